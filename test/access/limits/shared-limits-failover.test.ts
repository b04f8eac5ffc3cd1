/** A server for shared limits that answers, but not as it should: full, without rights, a replica by now, or silent. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openSharedLimits } from '#access/limits/shared/shared-limits.ts'
import { ValkeyServer } from '../../valkey/valkey-server.ts'
import { ManualClock, noonMs } from './manual-clock.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const dimension = { key: 'account:ada:text:m', type: 'user', requestsPerMinute: 40 } as const
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(10)
}

async function started(): Promise<ValkeyServer> {
  const server = await ValkeyServer.start()
  ends.push(() => server.stop())
  return server
}

/** Sends one command, as an operator does; returns the first line of its answer. */
async function tell({ port }: ValkeyServer, command: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${command}\r\n`)
  const [answer] = await once(socket, 'data')
  socket.destroy()
  return String(answer).split('\r\n', 1)[0] ?? ''
}

/** An address whose server can change, and whose connections can fall silent. */
class Address {
  readonly #server: Server
  readonly #clients = new Set<Socket>()
  #port: number

  constructor(server: Server, port: number) {
    this.#server = server
    this.#port = port
    server.on('connection', client => this.#join(client))
  }

  static async of({ port }: ValkeyServer): Promise<Address> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = new Address(server, port)
    ends.push(() => address.#close())
    return address
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('A listening server has an address.')
    return `redis://127.0.0.1:${address.port}`
  }

  /** New connections go there; the others stay. */
  leadTo({ port }: ValkeyServer): void {
    this.#port = port
  }

  /** Existing connections stay open, and carry nothing any more. */
  silence(): void {
    for (const client of this.#clients) client.unpipe().resume()
  }

  #join(client: Socket): void {
    const server = connect(this.#port, '127.0.0.1')
    this.#clients.add(client)
    client.pipe(server)
    server.pipe(client)
    for (const socket of [client, server])
      socket
        .on('error', () => undefined)
        .on('close', () => {
          this.#clients.delete(client)
          client.destroy()
          server.destroy()
        })
  }

  #close(): void {
    for (const client of this.#clients) client.destroy()
    this.#server.close()
  }
}

interface Process {
  log: { reason: string; message: string }[]
  /** Whether one request is admitted. */
  isAdmitted(): Promise<boolean>
  /** Whether it counts on this server. */
  countsOn(server: ValkeyServer): Promise<boolean>
}

async function processAt(url: string, silentForMs?: number): Promise<Process> {
  const log: Process['log'] = []
  const note = (facts: object, message: string) =>
    void log.push({ reason: String(Object.values(facts)[0] ?? ''), message })
  const clock = new ManualClock(noonMs)
  const limits = await openSharedLimits({
    ...{ url, publicUrl: 'https://failing.example', clock, limitMs: silentForMs ?? 50_000 },
    ...(silentForMs === undefined ? {} : { silentForMs }),
    log: { info: note, warn: note, error: note },
  })
  ends.push(() => limits.close())
  const isAdmitted = async () => {
    // A failure is followed by a rest, which goes by this clock.
    clock.advance(1_100)
    return (await limits.windows.take([dimension], 0, clock.now())).allowed
  }
  const countsOn = async (server: ValkeyServer) => {
    await tell(server, 'FLUSHALL')
    await isAdmitted()
    return (await tell(server, 'DBSIZE')) !== ':0'
  }
  return { log, isAdmitted, countsOn }
}

const refused = expect.stringContaining('The server for shared limits refuses commands or answers too late;')

describe('a server for shared limits', { tags: ['valkey'] }, () => {
  test('without memory left refuses no request, the log gives the reason once a minute, and counts go on later', async () => {
    const server = await started()
    const { log, isAdmitted, countsOn } = await processAt(server.url)
    await until(() => countsOn(server))
    await tell(server, 'CONFIG SET maxmemory 1')
    for (let each = 0; each < 5; each++) expect(await isAdmitted()).toBe(true)
    expect(log).toEqual([{ reason: 'OOM', message: refused }])
    for (let each = 0; each < 60; each++) await isAdmitted()
    expect(log).toHaveLength(2)
    await tell(server, 'CONFIG SET maxmemory 0')
    await until(() => countsOn(server))
  })

  test('without the right to its channel is reported', async () => {
    const server = await started()
    await tell(server, 'ACL SETUSER farebox on >secret ~farebox:* +@all resetchannels')
    const { log } = await processAt(server.url.replace('//', '//farebox:secret@'))
    await until(() => log.length > 0)
    expect(log).toEqual([{ reason: 'NOPERM', message: refused }])
  })

  test('that has become a replica is left for the one that its address leads to now', async () => {
    const [first, second] = [await started(), await started()]
    const address = await Address.of(first)
    const { countsOn } = await processAt(address.url)
    await until(() => countsOn(first))
    await tell(first, `REPLICAOF 127.0.0.1 ${second.port}`)
    address.leadTo(second)
    await until(() => countsOn(second))
  })

  test('whose connection falls silent gets a new one', async () => {
    const server = await started()
    const address = await Address.of(server)
    const { log, countsOn } = await processAt(address.url, 300)
    await until(() => countsOn(server))
    address.silence()
    await until(async () => (await countsOn(server)) && log.length > 1)
    expect(log[0]).toMatchObject({ reason: 'no answer' })
    expect(log.at(-1)?.message).toContain('is reachable again.')
  })
})
