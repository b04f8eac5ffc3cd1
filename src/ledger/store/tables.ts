/**
 * The tables as Kysely reads them, the same on every store. Integers are returned by one rule: a column of money or
 * priced units (and any alias that ends in `_usd`) is a bigint, every other integer a safe number.
 */
import type { Generated } from 'kysely'
import type { KeyRole } from '#contract/operations/keys.ts'
import type { BudgetPeriod, OpenAccount, OperatorAct } from './account-ops.ts'
import type { ClaimState, JobState, LogLimit, PaymentState } from './units.ts'

export interface Tables {
  account: AccountTable
  customer: CustomerTable
  operator_act: OperatorActTable
  operator: OperatorTable
  wallet: WalletTable
  api_key: ApiKeyTable
  key_use: KeyUseTable
  staking_credit: StakingCreditTable
  hold: HoldTable
  ended_hold: EndedHoldTable
  unit: UnitTable
  entry: EntryTable
  day_sum: DaySumTable
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
  compaction: CompactionTable
}

/** Only customers. System accounts store no balance, so that no row is changed by every request. */
interface AccountTable {
  id: string
  kind: OpenAccount['kind']
  posted: bigint
  held: bigint
  created_at_ms: number
  /** Null while the account is active, as is the reason. */
  suspended_at_ms: number | null
  suspended_reason: string | null
}

/** An operator's notes about an account; most accounts have no row. */
interface CustomerTable {
  account: string
  name: string | null
  email: string | null
  note: string | null
  /** Null for the plan of the configuration. */
  plan: string | null
  changed_at_ms: number
}

/** Append-only: every action of an operator, written in the unit of the action. */
interface OperatorActTable {
  seq: Generated<number>
  at_ms: number
  actor: string
  act: OperatorAct
  account: string | null
  subject: string | null
  reason: string | null
  /** JSON texts. */
  before_change: string | null
  after_change: string | null
}

/** Who may sign in to the console without a terminal. */
export interface OperatorTable {
  name: string
  role: string
  epoch: string
  /** JSON text. */
  proofs: string
  /** 1 after the insert; every move adds 1. */
  fence: number
  created_at_ms: number
  changed_at_ms: number
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
  /** The last characters of the secret. */
  ending: Generated<string>
  role: Generated<KeyRole>
  label: string
  expires_at_ms: number | null
  created_at_ms: number
  revoked_at_ms: number | null
  /** Null, with both limits, if the key has no budget of its own. */
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

/** Only open holds. */
export interface HoldTable {
  id: string
  account: string
  /** The total; the part that is not staking credit counts in the account's `held`. */
  amount: bigint
  staking_usd: bigint
  staking_day_ms: number | null
  api_key: string | null
  /** Null if the key had no budget. */
  budget_period: BudgetPeriod | null
  budget_start_ms: number | null
  /** The key's limits when the hold was opened; null is unlimited. */
  budget_usd: bigint | null
  budget_staking_usd: bigint | null
  /** JSON: what the work has cost so far; see `readOwed`. */
  owed: string | null
  lease_owner: string
  lease_until_ms: number
  created_at_ms: number
}

/** Ids of ended holds, kept permanently: a hold's id is never reused. */
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
  /** The unit that wrote it and its position in that unit; shown in lists. */
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
  /** Unique together with `line`: `charge:<request>` and similar names (see `entryRefs`), or what a credit names. */
  ref: string
  line: number
  request: string | null
  model: string | null
  sku: string | null
  units: bigint | null
  unit_price_pico_usd: bigint | null
  reason: string | null
  /**
   * For a charge and the entries that belong to it: the key that called, and the period of its budget in which it
   * counts.
   */
  api_key: string | null
  budget_period: BudgetPeriod | null
  budget_start_ms: number | null
  /** For a STAKING row: the day whose credit it uses. */
  staking_day_ms: number | null
  created_at_ms: number
}

/** The sum of one kind of entry of an account on a UTC day, for one model. Only triggers write it, with each entry. */
interface DaySumTable {
  day_ms: number
  account: string
  /** Empty if the entries have no model, such as those of a top-up. */
  model: string
  kind: EntryTable['kind']
  /** Signed, as the customer sees it. */
  effect_usd: bigint
  entries: number
  /** Charged requests, counted by their first line. */
  requests: number
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
  /** JSON text, like `result` and `failure`. */
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

/** The request, while the job may still need it. It contains callers' uploads, and is deleted when the job ends. */
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

/** Separate, because an answer may be large and most reads of a claim do not need it. */
interface ClaimAnswerTable {
  claim: string
  /** JSON text. */
  answer: string
}

/** At most one row; none means that the ledger is open. */
interface LedgerStateTable {
  state: 'open' | 'read_only'
  reason: string
  since_ms: number
}

/** Every secret that hashed this ledger's keys, by its mark; the last one is current. */
interface SecretMarkTable {
  generation: number
  mark: string
  /** Which service recorded it. */
  place: string
  since_ms: number
}

/** Every public key that ever signed this ledger's receipts. */
interface ReceiptKeyTable {
  /** Thumbprint of the key. */
  id: string
  /** Ed25519, base64url. */
  public_key: string
  since_ms: number
}

/** At most one row; no row if nothing was ever folded. */
interface CompactionTable {
  /** Entries before this time may be sums. */
  before_ms: number
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

/** Converts a row whose integers are all bigints: those that are neither money nor priced units become safe numbers. */
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
