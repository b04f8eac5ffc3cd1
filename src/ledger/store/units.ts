/**
 * Units of work: the only way in which the service writes. A unit is plain data, applied completely or refused; the
 * same id again returns its first outcome. A refused unit leaves no trace, so a retry is judged again.
 */
import { type MicroUsd, microUsd } from '#contract/money.ts'
import type {
  AddKey,
  LinkWallet,
  MoveOperator,
  NoteAct,
  OpenAccount,
  PeriodStarts,
  ResumeAccount,
  RevokeKey,
  SetCustomer,
  SetKeyBudget,
  SuspendAccount,
} from './account-ops.ts'

export interface Unit {
  /** Ordered by time (starts with a UUIDv7), because random ids make the table of outcomes slow as it grows. */
  id: string
  ops: readonly Op[]
}

export type Op =
  | OpenAccount
  | LinkWallet
  | AddKey
  | SetKeyBudget
  | RevokeKey
  | SetCustomer
  | SuspendAccount
  | ResumeAccount
  | NoteAct
  | MoveOperator
  | Hold
  | Extend
  | Renew
  | Capture
  | Release
  | Credit
  | Refund
  | UseNonce
  | MoveJob
  | MovePayment
  | MoveClaim
  | LogLimit
  | SetLedgerState
  | MarkSecret
  | PublishReceiptKey

/** The owner of work that outlives a call, and until when: recovery touches only expired leases. */
export interface Lease {
  owner: string
  untilMs: number
}

/**
 * Reserves everything that a call needs, or nothing: staking credit first, then USD (`posted − held` must cover the
 * rest), the key's own budget, and one of the account's open holds. A hold's id is never reused.
 */
export interface Hold {
  op: 'hold'
  hold: string
  account: string
  amount: MicroUsd
  lease: Lease
  /** The key that called; it must belong to the account and not be revoked. */
  key?: HoldKey | null
  /** The daily credit that is used before USD. */
  staking?: StakingDay | null
  /** Maximum number of open holds of the account, including this one. */
  mostOpen?: number | null
  atMs: number
}

/** Starts of the UTC day and month in which this hold counts, whichever of them the key's budget uses. */
interface HoldKey extends PeriodStarts {
  key: string
}

export interface StakingDay {
  /** Start of the UTC day. */
  dayMs: number
  /** All that the account's stake gives for that day, used or not; the latest value counts. */
  granted: MicroUsd
}

/** Grows an open hold by `amount` from the same sources, within the limits when it was opened and the current ones. */
export interface Extend {
  op: 'extend'
  hold: string
  amount: MicroUsd
}

/** Extends a hold's lease while its work is alive. Only its owner may. */
interface Renew {
  op: 'renew'
  hold: string
  lease: Lease
  /** What the work has cost so far, for recovery after a crash; unchanged if absent. */
  owed?: Owed
}

export interface Owed {
  request: string
  model: string | null
  lines: readonly Line[]
}

/** Charges the lines against the hold (their sum less the write-off ≤ the hold) and frees the rest of it. */
export interface Capture {
  op: 'capture'
  hold: string
  /** Lines are unique by request and number, so a request is charged once. */
  request: string
  model: string | null
  lines: readonly Line[]
  /** The part of the lines' cost beyond the hold, booked as a loss of the service. At most their sum. */
  writeOff?: MicroUsd
  /** For recovery: a live lease is never touched. */
  onlyIfExpired?: { atMs: number }
  atMs: number
}

export interface Line {
  sku: string
  units: bigint
  unitPricePicoUsd: bigint
  amount: MicroUsd
}

/** Frees a hold without a charge. `onlyIfExpired` is for recovery: a live lease is never touched. */
interface Release {
  op: 'release'
  hold: string
  onlyIfExpired?: { atMs: number }
}

/** Credits an account from a system account; `ref` is unique, so a payment is credited once. */
interface Credit {
  op: 'credit'
  account: string
  amount: MicroUsd
  source: 'system:usdc' | 'system:grant'
  ref: string
  atMs: number
}

/**
 * Returns a captured request's charge, once: the lines less their write-off, as one entry. Staking credit returns to
 * its day (and is lost if that day is over), and the key's budget to that period.
 */
interface Refund {
  op: 'refund'
  request: string
  reason: string
  atMs: number
}

/** Refused as `nonce_used` if the key already exists. Expired nonces are pruned. */
export interface UseNonce {
  op: 'nonce'
  key: string
  expiresAtMs: number
}

/**
 * Compare-and-set of a job's row: `from: null` inserts it. `fence` is the row's number before the move; a move adds 1.
 * An insert is a move from 0, so a new row has fence 1. Its account and request never change.
 */
interface MoveJob {
  op: 'job'
  job: string
  from: JobState | null
  to: JobState
  fence: number
  set: JobFields
  atMs: number
}

export type JobState = 'queued' | 'running' | 'completed' | 'failed' | 'deleted'

/** Fields that a move writes; absent ones stay unchanged. An insert requires account, model, request and input. */
export interface JobFields {
  account?: string
  model?: string
  /** The request whose capture paid for it; named by a refund. */
  request?: string
  /** JSON text; null deletes it. */
  input?: string | null
  /** JSON text: how the engine finds its own work again. */
  engineState?: string
  /** JSON text: the file, its type and size. */
  result?: string
  /** JSON text: why it failed, in our words. */
  failure?: string
  lease?: Lease | null
}

/** Compare-and-set of a payment's row by its canonical key; `from: null` claims the key. */
interface MovePayment {
  op: 'payment'
  /** EVM: chain, token, payer and nonce; Solana: hash of the message. Never the header's text. */
  payment: string
  from: PaymentState | null
  to: PaymentState
  fence: number
  set: PaymentFields
  atMs: number
}

export type PaymentState = 'claimed' | 'settling' | 'unknown' | 'credited' | 'rejected' | 'expired'

export interface PaymentFields {
  network?: string
  payer?: string
  amount?: MicroUsd
  /** JSON text: what was signed, so that settling can be repeated. */
  payload?: string
  /** Unix seconds after which the authorization can no longer land. */
  validBeforeSeconds?: number
  transaction?: string
  /** JSON text: the answer that every resend gets, byte for byte. */
  answer?: string
  lease?: Lease | null
}

/** Compare-and-set of the row of an `Idempotency-Key`: `from: null` claims it, `to: 'gone'` gives it up. */
export interface MoveClaim {
  op: 'claim'
  /** Identifies account, operation and the caller's key. */
  claim: string
  from: 'running' | null
  to: ClaimState | 'gone'
  fence: number
  set: ClaimFields
  atMs: number
}

export type ClaimState = 'running' | 'done'

/** An insert requires account, request and fingerprint, which never change; `done` requires the answer. */
export interface ClaimFields {
  account?: string
  /** The request that is charged for the work, however often it is resumed. */
  request?: string
  /** Hash of the request: using the key with another body is the caller's mistake. */
  fingerprint?: string
  /** JSON text: status, headers and body, byte for byte. */
  answer?: string
  lease?: Lease | null
}

/** One request that hit a limit, for the log that its owner may read. An account's newest 50 are kept. */
export interface LogLimit {
  op: 'limit'
  account: string
  key: string | null
  model: string
  tier: string
  type: 'RPM' | 'TPM' | 'RPD' | 'FAILED_REQUESTS'
  atMs: number
}

/** While the ledger is read-only, holds and extensions are refused; calls in flight may still end. */
export interface SetLedgerState {
  op: 'ledger'
  state: 'open' | 'read_only'
  /** For the operator. */
  reason: string
  atMs: number
}

/**
 * Appends to the ledger's list of the service's secrets, the newest of which is current. If two are added for one
 * position, one is refused.
 */
interface MarkSecret {
  op: 'secret'
  /** 1 for the first secret, and one more for each that follows. */
  generation: number
  /** Distinguishes secrets and reveals nothing about them. */
  mark: string
  /** Which service has the file. */
  place: string
  atMs: number
}

/** Adds a public key that signs this ledger's receipts, permanently; an existing one changes nothing. */
interface PublishReceiptKey {
  op: 'receiptKey'
  /** Its thumbprint (RFC 7638). */
  key: string
  /** Ed25519, base64url as in a JWK's `x`. */
  publicKey: string
  atMs: number
}

/**
 * Names of entries that belong to one request. They are unique together with the line number, so nothing is booked
 * twice.
 */
export const entryRefs = {
  charge: (request: string) => `charge:${request}`,
  writeOff: (request: string) => `writeoff:${request}`,
  staking: (request: string) => `staking:${request}`,
  refund: (request: string) => `refund:${request}`,
  stakingBack: (request: string) => `staking-back:${request}`,
}

/**
 * Prefix of the request of a compacted month's sum, and of the SKUs of its lines, which distinguishes them from those of
 * calls.
 */
export const archived = 'archived'

/** Whether a request is itself a sum of earlier ones. */
export const isArchivedSum = (request: string): boolean => request.startsWith(`${archived}:`)

/** A credit may not use one of these names. */
export const isReservedRef = (ref: string): boolean => /^(charge|writeoff|staking|refund|staking-back):/.test(ref)

/**
 * What a hold's row stores about work that is still running. Amounts are decimal text, because JSON has no large
 * integers.
 */
export const storeOwed = ({ request, model, lines }: Owed): string =>
  JSON.stringify([
    request,
    model,
    lines.map(({ sku, units, unitPricePicoUsd, amount }) => [sku, `${units}`, `${unitPricePicoUsd}`, `${amount}`]),
  ])

type StoredOwed = [request: string, model: string | null, lines: [string, string, string, string][]]

export function readOwed(text: string): Owed {
  const [request, model, lines] = JSON.parse(text) as StoredOwed
  return { request, model, lines: lines.map(readLine) }
}

const readLine = ([sku, units, price, amount]: [string, string, string, string]): Line => ({
  sku,
  units: BigInt(units),
  unitPricePicoUsd: BigInt(price),
  amount: microUsd(BigInt(amount)),
})
