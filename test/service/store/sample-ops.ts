/** Operations and units of tests, with what does not matter filled in. */
import { microUsd } from '#contract/money.ts'
import type { Store } from '#service/store/store.ts'
import type { JobFields, JobState, Op, Outcome, PaymentFields, PaymentState, Unit } from '#service/store/units.ts'
import { uuidV7 } from '#service/store/uuid-v7.ts'

export const nowMs = 1_800_000_000_000

export const unit = (...ops: Op[]): Unit => ({ id: uuidV7(nowMs), ops })

export const account = (id = 'ada'): Op => ({ op: 'account', account: id, kind: 'customer', atMs: nowMs })

export const wallet = (id: string, owner = 'ada'): Op => ({ op: 'wallet', wallet: id, account: owner, atMs: nowMs })

export const key = (id: string, hash = `hash of ${id}`, owner = 'ada'): Op => {
  const words = { prefix: 'fb_1234', label: 'test' }
  return { op: 'key', key: id, account: owner, hash, ...words, expiresAtMs: null, atMs: nowMs }
}

export const revokeKey = (id: string): Op => ({ op: 'revokeKey', key: id, atMs: nowMs })

export const grant = (amount: bigint, ref = `grant:${uuidV7(nowMs)}`, to = 'ada'): Op => {
  return { op: 'credit', account: to, amount: microUsd(amount), source: 'system:grant', ref, atMs: nowMs }
}

export const topUp = (amount: bigint, payment: string, to = 'ada'): Op => {
  const ref = `topup:${payment}`
  return { op: 'credit', account: to, amount: microUsd(amount), source: 'system:usdc', ref, atMs: nowMs }
}

export const lease = (untilMs = nowMs + 60_000, owner = 'one') => ({ owner, untilMs })

export const hold = (id: string, amount: bigint, of = 'ada', held = lease()): Op => {
  return { op: 'hold', hold: id, account: of, amount: microUsd(amount), lease: held, atMs: nowMs }
}

export const extend = (id: string, amount: bigint): Op => ({ op: 'extend', hold: id, amount: microUsd(amount) })

export const renew = (id: string, held = lease()): Op => ({ op: 'renew', hold: id, lease: held })

export const release = (id: string, expiredAtMs?: number): Op =>
  expiredAtMs === undefined
    ? { op: 'release', hold: id }
    : { op: 'release', hold: id, onlyIfExpired: { atMs: expiredAtMs } }

/** One line an amount, each priced at exactly one micro-USD a unit. */
export const capture = (id: string, amounts: bigint[], request = id): Op => {
  const priced = { unitPricePicoUsd: 1_000_000n }
  const lines = amounts.map((amount, line) => ({
    sku: `part-${line}`,
    units: amount,
    ...priced,
    amount: microUsd(amount),
  }))
  return { op: 'capture', hold: id, request, model: 'demo-chat', lines, atMs: nowMs }
}

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
