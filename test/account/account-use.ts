import { microUsd } from '#contract/money.ts'
import { dayMs, hourMs } from '#contract/time.ts'
import { periodStarts } from '#ledger/accounts/keys.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { OpenedService } from '../service/open-service.ts'

export interface Used {
  request: string
  key: string | null
  chargedMicroUsd: bigint
}

interface UseOptions {
  account: string
  /** Those that call, in turn; null for a wallet. */
  keys: readonly (string | null)[]
  /** Begins the ids of requests. */
  name: string
  days?: number
  /** What costs more each day. */
  models?: readonly string[]
}

/** Writes units to a service's ledger, and throws if it refuses one. */
export const committer = ({ store, clock }: Pick<OpenedService, 'store' | 'clock'>) => {
  let units = 0
  return async (...ops: Op[]): Promise<void> => {
    const [outcome] = await store.commit([{ id: `${uuidV7(clock.now())}/${units++}`, ops }])
    if (!outcome?.ok) throw new Error(`The ledger refused ${JSON.stringify(outcome)}.`)
  }
}

/** Calls of some days, today included: one of each model a day, with odd amounts and one refund. */
export async function useFor(
  service: Pick<OpenedService, 'store' | 'clock'>,
  { account, keys, name, days = 10, models = ['demo-chat', 'demo-image'] }: UseOptions,
): Promise<Used[]> {
  const commit = committer(service)
  const used: Used[] = []
  const nowMs = service.clock.now()
  for (let day = days - 1; day >= 0; day--) {
    for (const [place, model] of models.entries()) {
      const request = `${name}-${day}-${place}`
      const key = keys[used.length % keys.length] ?? null
      const amount = microUsd(1_013 + day * 7 + place * 50_021 + ((day * 7 + place * 5) % 11) * 9_007)
      const atMs = nowMs - day * dayMs - place - 1
      const by = key === null ? {} : { key: { key, ...periodStarts(atMs) } }
      const line = { sku: `${model.slice(5)}.output`, units: 3n, unitPricePicoUsd: 1_000_007n, amount }
      await commit(
        { op: 'hold', hold: request, account, amount, lease: { owner: 'test', untilMs: atMs + hourMs }, atMs, ...by },
        { op: 'capture', hold: request, request, model, lines: [line], atMs },
      )
      used.push({ request, key, chargedMicroUsd: amount })
    }
  }
  const [first] = used
  if (first) await commit({ op: 'refund', request: first.request, reason: 'It was wrong', atMs: nowMs })
  return used
}
