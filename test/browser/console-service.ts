import { createHash } from 'node:crypto'
import { microUsd } from '#contract/money.ts'
import { dayMs, hourMs, systemClock } from '#contract/time.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { OperatorRole, SettingsView } from '#pages/console/wire.ts'
import { Listener } from '#service/http/listener.ts'
import { adminToken, type OpenedService, openService, type TestClock } from '../service/open-service.ts'

export interface ServedConsole {
  service: OpenedService
  /** A link as `farebox console` prints it. */
  link(role?: OperatorRole): Promise<string>
  commit(...ops: Op[]): Promise<void>
  close(): Promise<void>
}

const checkSettings = async (): Promise<SettingsView> => ({
  faults: [],
  facts: {
    ...{ publicUrl: 'https://api.example', listen: '127.0.0.1:8402', rails: ['EVM'], proxies: null, otherFeatures: [] },
    models: [{ id: 'demo-chat', type: 'text', engines: ['demo'] }],
  },
  waitForRestart: ['payments'],
})

/** A service whose console listens on a port of this machine. */
export async function serveConsole(): Promise<ServedConsole> {
  const service = await openService({ clock: systemClock as TestClock })
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  const origins = [`http://127.0.0.1:${listener.port}`, `http://localhost:${listener.port}`] as const
  listener.serve(service.service.openConsole(origins, { checkSettings }))
  let units = 0
  return {
    service,
    async link(role = 'owner') {
      const response = await service.request('/admin/v1/console/link', {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}` },
        body: JSON.stringify({ role, by: 'ada' }),
      })
      return ((await response.json()) as { link: string }).link
    },
    async commit(...ops) {
      const [outcome] = await service.store.commit([{ id: `${uuidV7(Date.now())}/${units++}`, ops }])
      if (!outcome?.ok) throw new Error(`The ledger refused ${JSON.stringify(outcome)}.`)
    },
    async close() {
      await listener.close(0)
      await service.close()
    },
  }
}

const wallet = '0x36f9a2b1c4d5e6f708192a3b4c5d6e7f80910213'
export const people = ['Harbour Studio', 'Nimbus Labs', 'Orchard School', 'Quarry Games', 'Tidal Research'] as const
const transactionOf = (index: number): string => `0x${createHash('sha256').update(`${index}`).digest('hex')}`

const models = [
  ['demo-chat', 37n],
  ['demo-image', 4_100n],
  ['demo-video', 151_213n],
] as const

/** A month of a small service: customers, charges by day and model, top-ups, one of them stuck, and jobs. */
export async function aMonth({ commit }: ServedConsole, nowMs = Date.now()): Promise<{ chargedMicroUsd: bigint }> {
  let chargedMicroUsd = 0n
  const today = nowMs - (nowMs % dayMs)
  const beganMs = today - 29 * dayMs
  for (const [index, name] of people.entries()) {
    const account = `customer-${index}`
    const email = `office@${name.split(' ')[0]?.toLowerCase()}.example`
    const amount = microUsd(300_000_000)
    const payment = `eip155:8453:usdc:${wallet}:top-up-${index}`
    const set = { network: 'eip155:8453', payer: wallet, amount, payload: '{}', transaction: transactionOf(index) }
    await commit(
      { op: 'account', account, kind: 'customer', atMs: beganMs },
      { op: 'customer', account, set: { name, email }, atMs: beganMs },
      { op: 'payment', payment, from: null, to: 'claimed', fence: 0, set, atMs: beganMs },
    )
    await commit(
      { op: 'payment', payment, from: 'claimed', to: 'credited', fence: 1, set: {}, atMs: beganMs },
      { op: 'credit', account, amount, source: 'system:usdc', ref: `topup:${payment}`, atMs: beganMs },
    )
  }
  for (let day = 29; day >= 0; day--) {
    for (const [place, index] of models.flatMap((_, at) => people.map((__, each) => [at, each] as const))) {
      const [model, price] = models[place] ?? ['', 0n]
      const units = BigInt(((day * 7 + index * 5 + place * 3) % 11) * (5 - index))
      if (units === 0n) continue
      const [request, amount] = [`request-${index}-${day}-${place}`, microUsd(units * price)]
      const atMs = today - day * dayMs + 1_000
      const account = `customer-${index}`
      const line = { sku: `${model.slice(5)}.output`, units, unitPricePicoUsd: price * 1_000_000n, amount }
      await commit(
        { op: 'hold', hold: request, account, amount, lease: { owner: 'month', untilMs: atMs + hourMs }, atMs },
        { op: 'capture', hold: request, request, model, lines: [line], atMs },
      )
      chargedMicroUsd += amount
    }
  }
  const stuck = `eip155:8453:usdc:${wallet}:stuck`
  const set = { network: 'eip155:8453', payer: wallet, amount: microUsd(5_000_000), payload: '{}' }
  const atMs = nowMs - 3 * hourMs
  await commit({ op: 'payment', payment: stuck, from: null, to: 'claimed', fence: 0, set, atMs })
  const sent = { transaction: transactionOf(people.length) }
  await commit({ op: 'payment', payment: stuck, from: 'claimed', to: 'unknown', fence: 1, set: sent, atMs })
  return { chargedMicroUsd }
}
