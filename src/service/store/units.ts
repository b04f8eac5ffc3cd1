/** Units of work: the only way the service writes. A unit is plain data, applied whole or refused; the same id again
 * returns its first outcome. A unit that was refused left no trace, so a retry is judged anew. */
import type { KeyRole } from '#contract/api-keys.ts'
import type { MicroUsd } from '#contract/money.ts'

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

/** Who does work that outlives a call: recovery touches only what has an expired lease. */
export interface Lease {
  owner: string
  untilMs: number
}

/** Opening an account that exists changes nothing. */
export interface OpenAccount {
  op: 'account'
  account: string
  kind: 'wallet' | 'customer'
  atMs: number
}

/** A wallet belongs to one account for good; linking it again to the same one changes nothing. */
export interface LinkWallet {
  op: 'wallet'
  /** Normalised: EVM in lower case, Solana as it is. */
  wallet: string
  account: string
  atMs: number
}

export interface AddKey {
  op: 'key'
  key: string
  account: string
  /** Keyed hash of the secret, hex; the secret itself is never stored. */
  hash: string
  /** The first characters of the secret, shown in lists. */
  prefix: string
  label: string
  /** `INFERENCE` where absent: only an ADMIN key manages keys and reads the account's bills. */
  role?: KeyRole
  /** The last characters of the secret, shown to its owner. */
  ending?: string
  /** Most keys that count which the account may have, this one included. */
  mostActive?: number
  expiresAtMs: number | null
  /** Absent or null: the key may spend what its account has. */
  budget?: KeyBudget | null
  atMs: number
}

/** What a key may spend in each period, of USD and of staking credit apart; null is without a limit of its own. */
export interface KeyBudget {
  period: BudgetPeriod
  usd: MicroUsd | null
  staking: MicroUsd | null
}

/** A UTC day, a UTC month, or all of a key's life. */
export type BudgetPeriod = 'epoch' | 'month' | 'lifetime'

/** Replaces a key's budget; it counts what is held from now on, and within one kind of period what was held before. */
export interface SetKeyBudget {
  op: 'keyBudget'
  key: string
  budget: KeyBudget | null
  /** Where they are there: the budget that was read (else refused as `key_moved`), what the key is for, when it ends. */
  before?: KeyBudget | null
  label?: string
  expiresAtMs?: number | null
  atMs: number
}

export interface RevokeKey {
  op: 'revokeKey'
  key: string
  atMs: number
}

/**
 * Reserves all that a call needs, or nothing: staking credit first, then USD (`posted − held` must cover the rest), the
 * key's own budget, and one of the account's open holds. A hold's id is never used twice.
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
  /** Most holds that the account may have open, this one included. */
  mostOpen?: number | null
  atMs: number
}

/** Starts of the UTC day and month that this hold counts in, whichever of them the key's budget goes by. */
export interface HoldKey {
  key: string
  epochStartMs: number
  monthStartMs: number
}

export interface StakingDay {
  /** Start of the UTC day. */
  dayMs: number
  /** All that the account's stake gives for that day, used or not; the last one told counts. */
  granted: MicroUsd
}

/** Grows an open hold by `amount`, out of the same sources and the same budget. */
export interface Extend {
  op: 'extend'
  hold: string
  amount: MicroUsd
}

/** Moves the end of a hold's lease while its work is alive. Only its owner may. */
export interface Renew {
  op: 'renew'
  hold: string
  lease: Lease
  /** What the work has cost so far, for whoever recovers the hold after a crash; absent: as it was. */
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
  /** Lines are unique by request and line, so a request is charged once. */
  request: string
  model: string | null
  lines: readonly Line[]
  /** What the lines cost beyond the hold: a loss of the service, booked as such. At most their sum. */
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
export interface Release {
  op: 'release'
  hold: string
  onlyIfExpired?: { atMs: number }
}

/** Credits an account out of a system account; `ref` is unique, so a payment is credited once. */
export interface Credit {
  op: 'credit'
  account: string
  amount: MicroUsd
  source: 'system:usdc' | 'system:grant'
  ref: string
  atMs: number
}

/**
 * Gives back what a captured request was charged, once: the lines less their write-off as one entry, of which staking
 * credit returns to its day (and is gone where that day is over), and the key's budget for that period.
 */
export interface Refund {
  op: 'refund'
  request: string
  reason: string
  atMs: number
}

/** Refused as `nonce_used` when the key is already there. Expired nonces are pruned. */
export interface UseNonce {
  op: 'nonce'
  key: string
  expiresAtMs: number
}

/**
 * Compare-and-set of a job's row: `from: null` inserts it. `fence` is the row's number before the move; a move adds 1.
 * An insert is a move from 0, so a fresh row has fence 1. Its account and request never change.
 */
export interface MoveJob {
  op: 'job'
  job: string
  from: JobState | null
  to: JobState
  fence: number
  set: JobFields
  atMs: number
}

export type JobState = 'queued' | 'running' | 'completed' | 'failed' | 'deleted'

/** Fields that a move writes; absent ones stay as they are. On insert account, model, request and input are required. */
export interface JobFields {
  account?: string
  model?: string
  /** The request whose capture paid for it; what a refund names. */
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
export interface MovePayment {
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
  /** Unix seconds after which the authorisation can no longer land. */
  validBeforeSeconds?: number
  transaction?: string
  /** JSON text: the answer that every resend gets, byte for byte. */
  answer?: string
  lease?: Lease | null
}

/** Compare-and-set of the row of an `Idempotency-Key`: `from: null` claims it, `to: 'gone'` gives it up. */
export interface MoveClaim {
  op: 'claim'
  /** Names account, operation and the caller's key. */
  claim: string
  from: 'running' | null
  to: ClaimState | 'gone'
  fence: number
  set: ClaimFields
  atMs: number
}

export type ClaimState = 'running' | 'done'

/** On insert account, request and fingerprint are required, and never change; `done` requires the answer. */
export interface ClaimFields {
  account?: string
  /** The request that is charged for the work, however often it is taken up again. */
  request?: string
  /** Hash of what was asked: the same key with another body is a mistake of the caller. */
  fingerprint?: string
  /** JSON text: status, headers and body, byte for byte. */
  answer?: string
  lease?: Lease | null
}

/** One request that met a limit, for the log that its owner may read. Insert only; the oldest beyond a bound are pruned. */
export interface LogLimit {
  op: 'limit'
  account: string
  key: string | null
  model: string
  tier: string
  type: 'RPM' | 'TPM' | 'RPD' | 'FAILED_REQUESTS'
  atMs: number
}

/** While the ledger is read-only holds and extensions are refused; what has begun may still end. */
export interface SetLedgerState {
  op: 'ledger'
  state: 'open' | 'read_only'
  /** For whoever has to look into it. */
  reason: string
  atMs: number
}

/** Appends to what the books know of the service's secrets, the newest of which is in use. Of two for one place, one is refused. */
export interface MarkSecret {
  op: 'secret'
  /** 1 for the first secret, and one more for each that follows. */
  generation: number
  /** Tells secrets apart, and nothing about them. */
  mark: string
  /** Which service has it, for whoever looks for the file. */
  place: string
  atMs: number
}

/** Adds a public key that receipts of these books are signed with, for good; one that is there changes nothing. */
export interface PublishReceiptKey {
  op: 'receiptKey'
  /** Its thumbprint (RFC 7638). */
  key: string
  /** Ed25519, base64url as in a JWK's `x`. */
  publicKey: string
  atMs: number
}

export interface Balance {
  account: string
  posted: MicroUsd
  held: MicroUsd
}

export type Outcome = Applied | Refused

export interface Applied {
  ok: true
  /** True when the unit had been applied before and this is its first outcome. */
  again: boolean
  /** After the unit, one for each account whose money it touched. */
  balances: readonly Balance[]
}

export interface Refused {
  ok: false
  /** Index of the operation that was refused; −1 where the unit itself is `invalid`. */
  op: number
  why: Refusal
}

/** The order of preconditions is part of the contract: it exists, then its state, then the funds, then the amount. */
export type Refusal =
  | 'no_account'
  | 'no_key'
  | 'key_exists'
  | 'key_moved'
  | 'too_many_keys'
  | 'wallet_taken'
  | 'hold_exists'
  | 'no_hold'
  | 'not_owner'
  | 'lease_live'
  | 'read_only'
  | 'too_many_open'
  | 'insufficient_funds'
  | 'over_budget'
  | 'over_hold'
  | 'request_charged'
  | 'ref_exists'
  | 'nothing_to_refund'
  | 'refunded'
  | 'nonce_used'
  | 'job_exists'
  | 'job_moved'
  | 'payment_exists'
  | 'payment_moved'
  | 'claim_exists'
  | 'claim_moved'
  | 'secret_moved'
  | 'invalid'
