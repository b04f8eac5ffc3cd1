/** Operations and units of tests, with what does not matter filled in. */
import { microUsd } from '#contract/money.ts'
import type { CustomerDetails, KeyBudget, OperatorAct, SetKeyBudget } from '#ledger/store/account-ops.ts'
import type { Outcome, Store } from '#ledger/store/store.ts'
import type {
  Capture,
  ClaimFields,
  Hold,
  JobFields,
  JobState,
  MoveClaim,
  Op,
  PaymentFields,
  PaymentState,
  Unit,
} from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

export const nowMs = 1_800_000_000_000

export const unit = (...ops: Op[]): Unit => ({ id: uuidV7(nowMs), ops })

export const account = (id = 'ada'): Op => ({ op: 'account', account: id, kind: 'customer', atMs: nowMs })

export const customer = (set: Partial<CustomerDetails>, of = 'ada'): Op => ({
  ...{ op: 'customer', account: of, set, atMs: nowMs },
})

export const suspend = (of = 'ada', atMs = nowMs): Op => ({ op: 'suspend', account: of, reason: 'a test', atMs })

export const resume = (of = 'ada'): Op => ({ op: 'resume', account: of })

export const act = (name: OperatorAct = 'customer.suspend', of: string | null = 'ada'): Op => {
  const words = { subject: null, reason: 'a test', before: null, after: '{"state":"suspended"}' }
  return { op: 'act', actor: 'a test', act: name, account: of, ...words, atMs: nowMs }
}

export const operator = (name: string, fence: number, role: string | null = 'owner'): Op => {
  const set = role === null ? null : { role, epoch: `epoch of ${name}`, proofs: '{"passkeys":[]}' }
  return { op: 'operator', operator: name, fence, set, atMs: nowMs }
}

export const wallet = (id: string, owner = 'ada'): Op => ({ op: 'wallet', wallet: id, account: owner, atMs: nowMs })

export const key = (id: string, hash = `hash of ${id}`, owner = 'ada', budget: KeyBudget | null = null): Op => {
  const words = { prefix: 'fb_1234', label: 'test' }
  return { op: 'key', key: id, account: owner, hash, ...words, expiresAtMs: null, budget, atMs: nowMs }
}

/** Null is without a limit. */
export const budget = (usd: bigint | null, staking: bigint | null = null, period: KeyBudget['period'] = 'epoch') => ({
  period,
  usd: usd === null ? null : microUsd(usd),
  staking: staking === null ? null : microUsd(staking),
})

export const keyBudget = (
  id: string,
  to: KeyBudget | null,
  more: Pick<SetKeyBudget, 'before' | 'covers' | 'expiresAtMs'> = {},
): Op => ({ op: 'keyBudget', key: id, budget: to, ...more, atMs: nowMs })

/** Where no use of the present period may be more than the new limits. */
export const covers = { covers: { epochStartMs: 20_000 * 86_400_000, monthStartMs: 19_990 * 86_400_000 } }

export const revokeKey = (id: string): Op => ({ op: 'revokeKey', key: id, atMs: nowMs })

export const grant = (amount: bigint, ref = `grant:${uuidV7(nowMs)}`, to = 'ada'): Op => {
  return { op: 'credit', account: to, amount: microUsd(amount), source: 'system:grant', ref, atMs: nowMs }
}

export const topUp = (amount: bigint, payment: string, to = 'ada'): Op => {
  const ref = `topup:${payment}`
  return { op: 'credit', account: to, amount: microUsd(amount), source: 'system:usdc', ref, atMs: nowMs }
}

export const lease = (untilMs = nowMs + 60_000, owner = 'one') => ({ owner, untilMs })

/** What a hold may say beside its amount. */
export type HoldTerms = Partial<Pick<Hold, 'key' | 'staking' | 'mostOpen'>>

export const hold = (id: string, amount: bigint, of = 'ada', held = lease(), terms: HoldTerms = {}): Op => {
  return { op: 'hold', hold: id, account: of, amount: microUsd(amount), lease: held, ...terms, atMs: nowMs }
}

export const dayMs = 86_400_000

/** The day and month of tests. */
export const by = (id: string, epochStartMs = 20_000 * dayMs, monthStartMs = 19_990 * dayMs) => ({
  key: { key: id, epochStartMs, monthStartMs },
})

export const staked = (granted: bigint, day = 20_000) => ({
  staking: { dayMs: day * dayMs, granted: microUsd(granted) },
})

export const extend = (id: string, amount: bigint): Op => ({ op: 'extend', hold: id, amount: microUsd(amount) })

export const renew = (id: string, held = lease()): Op => ({ op: 'renew', hold: id, lease: held })

export const release = (id: string, expiredAtMs?: number): Op =>
  expiredAtMs === undefined
    ? { op: 'release', hold: id }
    : { op: 'release', hold: id, onlyIfExpired: { atMs: expiredAtMs } }

/** One line an amount, each priced at exactly one micro-USD a unit. */
export const linesOf = (amounts: readonly bigint[]) =>
  amounts.map((amount, line) => ({
    sku: `part-${line}`,
    units: amount,
    unitPricePicoUsd: 1_000_000n,
    amount: microUsd(amount),
  }))

export const capture = (
  id: string,
  amounts: bigint[],
  request = id,
  { writeOff, ...terms }: { writeOff?: bigint } & Pick<Capture, 'onlyIfExpired'> = {},
): Op => {
  const loss = writeOff === undefined ? {} : { writeOff: microUsd(writeOff) }
  const lines = linesOf(amounts)
  return { op: 'capture', hold: id, request, model: 'demo-chat', lines, ...loss, ...terms, atMs: nowMs }
}

/** A renewal that says what the work has cost so far. */
export const checkpoint = (id: string, amounts: bigint[], held = lease()): Op => ({
  op: 'renew',
  hold: id,
  lease: held,
  owed: { request: id, model: 'demo-chat', lines: linesOf(amounts) },
})

export const claim = (
  id: string,
  from: MoveClaim['from'],
  to: MoveClaim['to'],
  fence: number,
  set: ClaimFields = {},
): Op => {
  const identity = { account: 'ada', request: `request of ${id}`, fingerprint: 'asked' }
  return { op: 'claim', claim: id, from, to, fence, set: from === null ? { ...identity, ...set } : set, atMs: nowMs }
}

export const ledger = (state: 'open' | 'read_only'): Op => ({ op: 'ledger', state, reason: 'a test', atMs: nowMs })

export const secret = (generation: number, mark = 'a1b2c3d4'): Op => ({
  ...{ op: 'secret', generation, mark, place: 'a test', atMs: nowMs },
})

export const receiptKey = (id: string, publicKey = `public key of ${id}`): Op => ({
  ...{ op: 'receiptKey', key: id, publicKey, atMs: nowMs },
})

export const refund = (request: string): Op => ({ op: 'refund', request, reason: 'it failed', atMs: nowMs })

export const nonce = (id: string, expiresAtMs = nowMs + 60_000): Op => ({ op: 'nonce', key: id, expiresAtMs })

export const job = (id: string, from: JobState | null, to: JobState, fence: number, set: JobFields = {}): Op => {
  const input = { account: 'ada', model: 'demo-video', request: `request of ${id}`, input: '{}' }
  return { op: 'job', job: id, from, to, fence, set: from === null ? { ...input, ...set } : set, atMs: nowMs }
}

export const payment = (
  id: string,
  from: PaymentState | null,
  to: PaymentState,
  fence: number,
  set: PaymentFields = {},
): Op => ({ op: 'payment', payment: id, from, to, fence, set, atMs: nowMs })

export const limit = (of = 'ada', atMs = nowMs): Op => {
  return { op: 'limit', account: of, key: null, model: 'demo-chat', tier: 'S', type: 'RPM', atMs }
}

/** Commits one unit of these operations and answers its outcome. */
export async function commitOps(store: Store, ...ops: Op[]): Promise<Outcome> {
  return commitUnit(store, unit(...ops))
}

export async function commitUnit(store: Store, one: Unit): Promise<Outcome> {
  const [outcome] = await store.commit([one])
  if (!outcome) throw new Error('A commit of one unit has one outcome.')
  return outcome
}

/** For what a test only builds on. */
export async function mustCommit(store: Store, ...ops: Op[]): Promise<void> {
  const outcome = await commitOps(store, ...ops)
  if (!outcome.ok) throw new Error(`Operation ${outcome.op} was refused: ${outcome.why}.`)
}
