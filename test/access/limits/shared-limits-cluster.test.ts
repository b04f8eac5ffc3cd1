/** Limits that processes share by a server with TLS, and by a cluster of three. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { openSharedLimits, type SharedLimits } from '#access/limits/shared/shared-limits.ts'
import { freePort } from '../../postgres/cluster.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { ValkeyServer } from '../../valkey/valkey-server.ts'
import { isShared } from './is-shared.ts'
import { ManualClock, noonMs } from './manual-clock.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const run = promisify(execFile)
const dimension = { key: 'account:ada:text:m', type: 'user', requestsPerMinute: 40 } as const

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn()
}

let folder = ''
const servers: ValkeyServer[] = []
const opened: SharedLimits[] = []
beforeAll(() => {
  folder = temporaryFolder('valkey')
})
afterEach(() => {
  for (const each of opened.splice(0)) each.close()
})
afterAll(() => Promise.all(servers.map(each => each.stop())))

async function started(settingsAt: (port: number) => readonly string[]): Promise<ValkeyServer> {
  const server = await ValkeyServer.start(settingsAt)
  servers.push(server)
  return server
}

async function limitsAt(url: string, publicUrl: string) {
  const reasons: unknown[] = []
  const note = (facts: object) => void reasons.push(...Object.values(facts))
  const clock = new ManualClock(noonMs)
  const limits = await openSharedLimits({
    ...{ url, publicUrl, clock, limitMs: 50_000 },
    log: { info: note, warn: note, error: note },
  })
  opened.push(limits)
  /** A failure is followed by a rest, which goes by this clock. */
  const isJoined = async () => {
    clock.advance(2_000)
    return isShared(limits, clock.now())
  }
  return { limits, clock, reasons, isJoined }
}

async function admittedByTwo(urls: readonly [string, string], publicUrl = `https://${randomUUID()}.example`) {
  const both = await Promise.all(urls.map(url => limitsAt(url, publicUrl)))
  for (const each of both) await until(each.isJoined)
  // Joining took each its own number of looks, and a block that one began must not be long over for the other.
  const latestMs = Math.max(...both.map(({ clock }) => clock.now()))
  for (const { clock } of both) clock.advance(latestMs - clock.now())
  const nowMs = noonMs + 600_000
  const takes = both.flatMap(({ limits }) =>
    Array.from({ length: 50 }, () => limits.windows.take([dimension], 0, nowMs)),
  )
  const taken = await Promise.all(takes)
  return { both, admitted: taken.filter(({ allowed }) => allowed).length }
}

describe('a server with TLS', { tags: ['valkey', 'openssl'] }, () => {
  let url = ''
  let certificate = ''
  const known = getCACertificates('default')
  beforeAll(async () => {
    const [key, own] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    const named = ['-subj', '/CN=farebox test', '-addext', 'subjectAltName=IP:127.0.0.1']
    await run('openssl', [...made, ...named, '-keyout', key, '-out', own])
    certificate = await readFile(own, 'utf8')
    const files = ['--tls-cert-file', own, '--tls-key-file', key, '--tls-ca-cert-file', own]
    const server = await started(port => [
      ...['--port', '0', '--tls-port', `${port}`, '--tls-auth-clients', 'no'],
      ...files,
    ])
    url = `rediss://127.0.0.1:${server.port}`
  })
  afterAll(() => setDefaultCACertificates(known))

  test('whose certificate is trusted counts for all', async () => {
    setDefaultCACertificates([...known, certificate])
    expect((await admittedByTwo([url, url])).admitted).toBe(40)
  })

  test('with an untrusted certificate is treated as unavailable, and the log gives the reason', async () => {
    setDefaultCACertificates(known)
    const { limits, reasons } = await limitsAt(url, 'https://a.example')
    await until(() => reasons.length > 0)
    expect(reasons).toContain('DEPTH_ZERO_SELF_SIGNED_CERT')
    expect((await limits.windows.take([dimension], 0, noonMs)).allowed).toBe(true)
  })
})

describe('a cluster of three', { tags: ['valkey', 'redis-cli'] }, () => {
  let nodes: ValkeyServer[] = []
  const slots = [
    ['0', '5460'],
    ['5461', '10922'],
    ['10923', '16383'],
  ] as const
  const ask = async ({ port }: ValkeyServer, ...words: string[]) =>
    (await run('redis-cli', ['-h', '127.0.0.1', '-p', `${port}`, ...words])).stdout

  beforeAll(async () => {
    const buses = [await freePort(), await freePort(), await freePort()]
    nodes = await Promise.all(
      buses.map(bus =>
        started(port => [
          ...['--cluster-enabled', 'yes', '--cluster-port', `${bus}`],
          ...['--cluster-config-file', join(folder, `nodes-${port}.conf`)],
        ]),
      ),
    )
    for (const [at, node] of nodes.entries()) await ask(node, 'CLUSTER', 'ADDSLOTSRANGE', ...(slots[at] ?? []))
    const [first] = nodes
    for (const [at, node] of nodes.entries())
      if (first && node !== first) await ask(first, 'CLUSTER', 'MEET', '127.0.0.1', `${node.port}`, `${buses[at]}`)
    const isWhole = async (node: ValkeyServer) => {
      const facts = await ask(node, 'CLUSTER', 'INFO')
      return facts.includes('cluster_state:ok') && facts.includes('cluster_known_nodes:3')
    }
    await until(async () => (await Promise.all(nodes.map(isWhole))).every(isSo => isSo))
  })

  test('counts for all, whichever node each process uses and whichever has the keys', async () => {
    const urls = nodes.map(({ url }) => url)
    const [one = '', two = '', three = ''] = urls
    // Names of several services, so that keys lie on every node.
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const publicUrl = `https://${name}.example`
      expect((await admittedByTwo([one, two], publicUrl)).admitted).toBe(40)
      expect((await admittedByTwo([two, three], `${publicUrl}/again`)).admitted).toBe(40)
    }
    const sizes = await Promise.all(nodes.map(node => ask(node, 'DBSIZE')))
    expect(sizes.map(Number).every(count => count > 0)).toBe(true)
  })

  test('counts for all if its nodes name only their ports', async () => {
    const [one, two, three] = nodes
    for (const node of nodes) await ask(node, 'CONFIG', 'SET', 'cluster-preferred-endpoint-type', 'unknown-endpoint')
    for (const [from, to] of [
      [one, two],
      [two, three],
      [three, one],
    ])
      expect((await admittedByTwo([from?.url ?? '', to?.url ?? ''])).admitted).toBe(40)
    for (const node of nodes) await ask(node, 'CONFIG', 'SET', 'cluster-preferred-endpoint-type', 'ip')
  })

  test('a block by one process reaches processes on other nodes', async () => {
    const [first, , last] = nodes
    const { both } = await admittedByTwo([first?.url ?? '', last?.url ?? ''])
    for (let failure = 0; failure < 21; failure++) await both[0]?.limits.block.count('account:ada')
    await until(() => both.every(({ limits }) => isBlocked(limits)))
  })
})

function isBlocked({ block }: SharedLimits): boolean {
  try {
    block.check('account:ada')
    return false
  } catch {
    return true
  }
}
