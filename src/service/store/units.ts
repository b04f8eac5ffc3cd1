/**
 * Units of work: the only way the service writes. A unit is plain data, applied whole or refused;
 * the same id again returns its first outcome. A unit that was refused left no trace, so a retry is judged anew.
 */
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
  | LogLimit

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
  expiresAtMs: number | null
  atMs: number
}

export interface RevokeKey {
  op: 'revokeKey'
  key: string
  atMs: number
}

/** Reserves credit: `posted − held` must cover it. A hold's id is never used twice. */
export interface Hold {
  op: 'hold'
  hold: string
  account: string
  amount: MicroUsd
  lease: Lease
  atMs: number
}

/** Grows an open hold by `amount`, within the available credit. */
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
}

/** Charges the lines against the hold (their sum ≤ the hold) and frees the rest of it. */
export interface Capture {
  op: 'capture'
  hold: string
  /** Lines are unique by request and line, so a request is charged once. */
  request: string
  model: string | null
  lines: readonly Line[]
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

/** Gives back every line of a captured request, once, as one entry. */
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
  | 'wallet_taken'
  | 'hold_exists'
  | 'no_hold'
  | 'not_owner'
  | 'lease_live'
  | 'insufficient_funds'
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
  | 'invalid'
