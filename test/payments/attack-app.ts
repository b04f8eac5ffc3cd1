import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll } from 'vitest'
import type { TopUps } from '#payments/top-ups/top-up.ts'
import { Listener } from '#service/http/listener.ts'
import { newAddress } from '../faults/twins/new-address.ts'
import { type OpenedService, openService } from '../service/open-service.ts'
import { startTestChain, type TestChain } from './test-chain.ts'
import { creditOf, encode, type Loose, openWorld, type World } from './top-up-world.ts'

export interface HttpAnswer {
  status: number
  text: string
  body: Loose
  headers: Record<string, string | string[] | undefined>
}

export interface Asked {
  /** Several values of one name are sent as lines of their own. */
  headers?: Record<string, string | string[]>
  body?: string
  /** Of the caller; a new one where it is not said, so that attacks do not share their limits. */
  from?: string
}

/** The whole service on a socket, on a real chain and real ledger. */
export interface AttackApp {
  world: World
  opened: OpenedService
  /** Another machine behind the same socket, for one attack. */
  use(topUps: TopUps): void
  ask(asked?: Asked): Promise<HttpAnswer>
  pay(payment: unknown, from?: string): Promise<HttpAnswer>
  /** Bytes as they are. */
  raw(text: string): Promise<string>
  creditOf(address: string): Promise<bigint>
  received(): Promise<[string, bigint][]>
  rows(): Promise<number>
  close(): Promise<void>
}

/** One for the file, on a chain of its own; `take` gets it before the first test begins. */
export function attackAppForAllTests(take: (app: AttackApp) => void): void {
  let chain: TestChain
  let app: AttackApp
  beforeAll(async () => {
    chain = await startTestChain()
    app = await openAttackApp(chain)
    take(app)
  })
  afterAll(async () => {
    await app.close()
    await chain.stop()
  })
}

async function openAttackApp(chain: TestChain): Promise<AttackApp> {
  const world = await openWorld(chain)
  let current = world.topUps
  const opened = await openService({ payments: { topUp: asked => current.topUp(asked) } })
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  listener.serve((incoming, bindings) => opened.service.app.fetch(incoming, bindings))
  const { port } = listener
  const ask = ({ headers = {}, body, from = newAddress() }: Asked = {}) =>
    new Promise<HttpAnswer>((resolve, reject) => {
      const options = { method: 'POST', headers, localAddress: from, agent: false, port, path: '/api/v1/x402/top-up' }
      const outgoing = request(options, async response => {
        const chunks: Buffer[] = []
        for await (const chunk of response) chunks.push(chunk)
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode ?? 0, text, body: JSON.parse(text || '{}'), headers: response.headers })
      })
      outgoing.on('error', reject).end(body)
    })
  return {
    world,
    opened,
    use(topUps) {
      current = topUps
    },
    ask,
    pay(payment, from) {
      const value = typeof payment === 'string' ? payment : encode(payment)
      return ask({ headers: { 'payment-signature': value }, ...(from ? { from } : {}) })
    },
    raw: text =>
      new Promise((resolve, reject) => {
        const at = { port, host: '127.0.0.1', localAddress: newAddress() }
        const socket = connect(at, () => socket.write(text))
        const chunks: Buffer[] = []
        socket.on('data', chunk => chunks.push(chunk))
        socket.on('end', () => resolve(Buffer.concat(chunks).toString()))
        socket.on('error', reject)
      }),
    creditOf: address => creditOf(world, address),
    received: () => chain.transfersTo(world.option.payTo),
    rows: async () => (await world.opened.store.read.selectFrom('payment').select('id').execute()).length,
    async close() {
      await listener.close(1_000)
      await opened.close()
      await world.dispose()
    },
  }
}
