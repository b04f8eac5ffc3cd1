/**
 * The tables as Kysely reads them, the same on every store. Integers come back by one rule: a column of money or of
 * priced units (and any alias that ends in `_usd`) is a bigint, every other integer a safe number.
 */
import type { Generated } from 'kysely'
import type { KeyRole } from '#contract/operations/keys.ts'
import type { BudgetPeriod, OpenAccount } from './account-ops.ts'
import type { ClaimState, JobState, LogLimit, PaymentState } from './units.ts'

export interface Tables {
  account: AccountTable
  wallet: WalletTable
  api_key: ApiKeyTable
  key_use: KeyUseTable
  staking_credit: StakingCreditTable
  hold: HoldTable
  ended_hold: EndedHoldTable
  unit: UnitTable
  entry: EntryTable
  nonce: NonceTable
  job: JobTable
  job_input: JobInputTable
  payment: PaymentTable
  claim: ClaimTable
  claim_answer: ClaimAnswerTable
  limit_log: LimitLogTable
  ledger_state: LedgerStateTable
  secret_mark: SecretMarkTable
  receipt_key: ReceiptKeyTable
}

/** Customers only: system accounts store no balance, so that no row is hot for everyone. */
interface AccountTable {
  id: string
  kind: OpenAccount['kind']
  posted: bigint
  held: bigint
  created_at_ms: number
}

interface WalletTable {
  id: string
  account: string
  created_at_ms: number
}

export interface ApiKeyTable {
  id: string
  account: string
  /** Keyed hash of the secret, hex. */
  hash: string
  prefix: string
  /** The last characters of the secret; empty for a key of an older release. */
  ending: Generated<string>
  role: Generated<KeyRole>
  label: string
  expires_at_ms: number | null
  created_at_ms: number
  revoked_at_ms: number | null
  /** Null, with both limits, where the key has no budget of its own. */
  budget_period: BudgetPeriod | null
  budget_usd: bigint | null
  budget_staking_usd: bigint | null
}

/** What a key with a budget has held and spent in one period; a key without one has no rows. */
interface KeyUseTable {
  key: string
  period: BudgetPeriod
  /** 0 for `lifetime`. */
  start_ms: number
  spent_usd: bigint
  held_usd: bigint
  spent_staking_usd: bigint
  held_staking_usd: bigint
}

/** The daily credit of an account that has used some of it. */
interface StakingCreditTable {
  account: string
  day_ms: number
  granted_usd: bigint
  spent_usd: bigint
  held_usd: bigint
}

/** Open holds only. */
export interface HoldTable {
  id: string
  account: string
  /** All of it; what is not staking credit counts in the account's `held`. */
  amount: bigint
  staking_usd: bigint
  staking_day_ms: number | null
  api_key: string | null
  /** Null where the key had no budget. */
  budget_period: BudgetPeriod | null
  budget_start_ms: number | null
  /** The limits of the key when the hold was opened; null is without. */
  budget_usd: bigint | null
  budget_staking_usd: bigint | null
  /** JSON: what the work has cost so far; see `readOwed`. */
  owed: string | null
  lease_owner: string
  lease_until_ms: number
  created_at_ms: number
}

/** Ids of holds that are over, kept for good: a hold's id is never used twice. */
interface EndedHoldTable {
  id: string
  how: 'captured' | 'released'
}

/** First outcomes, so that a repeated unit gets its first answer. Pruned by id, which is ordered by time. */
interface UnitTable {
  id: string
  /** JSON: `[[account, posted, held], …]`, amounts as decimal text. */
  balances: string
}

/** Append-only. One row moves `amount` from `debit` to `credit`, so every row is balanced by construction. */
export interface EntryTable {
  /** Order of commit. */
  seq: Generated<number>
  /** The unit that wrote it and its place in there; what a list shows. */
  id: string
  kind: 'TOP_UP' | 'CHARGE' | 'REFUND' | 'GRANT' | 'STAKING' | 'WRITE_OFF'
  /** The customer's side of the row. */
  account: string
  debit: string
  credit: string
  amount: bigint
  /** Signed, as the customer sees it. */
  effect: Generated<bigint>
  /** The customer's balance after this row. */
  posted_after: bigint
  /** With `line` unique: `charge:<request>` and its like (see `entryRefs`), or what a credit names. */
  ref: string
  line: number
  request: string | null
  model: string | null
  sku: string | null
  units: bigint | null
  unit_price_pico_usd: bigint | null
  reason: string | null
  /** Of a charge and what belongs to it: the key that called, and the period of its budget that it counts in. */
  api_key: string | null
  budget_period: BudgetPeriod | null
  budget_start_ms: number | null
  /** Of a STAKING row: whose day's credit it is. */
  staking_day_ms: number | null
  created_at_ms: number
}

interface NonceTable {
  id: string
  expires_at_ms: number
}

export interface JobTable {
  id: string
  account: string
  model: string
  request: string
  /** JSON text, as are `result` and `failure`. */
  engine_state: string | null
  result: string | null
  failure: string | null
  state: JobState
  /** 1 after the insert; every move adds 1. */
  fence: number
  lease_owner: string | null
  lease_until_ms: number | null
  created_at_ms: number
  updated_at_ms: number
}

/** What was asked, while the job may still need it; it holds what callers upload, and goes with the job's end. */
interface JobInputTable {
  job: string
  /** JSON text. */
  input: string
}

interface PaymentTable {
  id: string
  state: PaymentState
  /** 1 after the insert; every move adds 1. */
  fence: number
  network: string | null
  payer: string | null
  amount: bigint | null
  payload: string | null
  valid_before_seconds: number | null
  transaction_id: string | null
  answer: string | null
  lease_owner: string | null
  lease_until_ms: number | null
  created_at_ms: number
  updated_at_ms: number
}

/** One `Idempotency-Key` of one account on one operation. */
interface ClaimTable {
  id: string
  account: string
  request: string
  fingerprint: string
  state: ClaimState
  /** 1 after the insert; every move adds 1. */
  fence: number
  lease_owner: string | null
  lease_until_ms: number | null
  created_at_ms: number
  updated_at_ms: number
}

/** Apart, because an answer may be large and most looks at a claim do not need it. */
interface ClaimAnswerTable {
  claim: string
  /** JSON text. */
  answer: string
}

/** One row at most; none means open. */
interface LedgerStateTable {
  state: 'open' | 'read_only'
  reason: string
  since_ms: number
}

/** Every secret that made hashes of these books' keys, by its mark; the last one is in use. */
interface SecretMarkTable {
  generation: number
  mark: string
  /** Which service wrote it down. */
  place: string
  since_ms: number
}

/** Every public key that receipts of these books were ever signed with. */
interface ReceiptKeyTable {
  /** Thumbprint of the key. */
  id: string
  /** Ed25519, base64url. */
  public_key: string
  since_ms: number
}

interface LimitLogTable {
  seq: Generated<number>
  account: string
  key: string | null
  model: string
  tier: string
  type: LogLimit['type']
  created_at_ms: number
}

const moneyColumns = new Set(['posted', 'held', 'amount', 'effect', 'posted_after', 'units'])

/** Whether an integer of a result column stays a bigint. */
export const isMoneyColumn = (name: string): boolean => moneyColumns.has(name) || name.endsWith('_usd')

/** A row whose integers are all bigints, with those that are neither money nor priced units as safe numbers. */
export function narrowRow(row: Record<string, unknown>): Record<string, unknown> {
  const narrowed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(row))
    narrowed[name] = typeof value === 'bigint' && !isMoneyColumn(name) ? safeNumber(name, value) : value
  return narrowed
}

function safeNumber(name: string, value: bigint): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new RangeError(`Column ${name} holds ${value}, too large for a number; give it an alias that ends in _usd.`)
}
