/** What the customers' page and its server exchange. Amounts are texts of micro-USD, times are Unix milliseconds, days are UTC. */

export const accountPath = '/account'
export const accountApiPath = '/account/api/'

/** Takes `{ key }`, returns a `Session` and sets the cookie. */
export const keySessionPath = '/account/api/session'

/** `GET /account/api/me` */
export interface Me {
  kind: 'key' | 'wallet'
  /** The key's label or beginning, or the wallet's address. */
  who: string
  account: string
  /** What the operator calls the customer. */
  name: string | null
  /** A wallet or an ADMIN key sees the whole account and manages its keys. An INFERENCE key sees its own calls. */
  seesAccount: boolean
  state: 'active' | 'suspended'
  /** When the session ends, even if it is in use. */
  untilMs: number
  /** The address of the API that callers use. */
  publicUrl: string
  nowMs: number
}

/** The result of an action, as a sentence. */
export interface Notice {
  said: string
}

/** Sums of a period. `paid` is what was charged, less refunds, write-offs and staking credit. */
export interface Sums {
  requests: number
  charged: string
  refunded: string
  writtenOff: string
  staking: string
  paid: string
  toppedUp: string
  granted: string
}

/** `POST /account/api/balance` */
export interface BalanceView {
  /** What the caller may spend now, within the budget of its key. */
  available: string
  /** Today's staking credit; null if the service gives none. */
  staking: { left: string; today: string } | null
  /** The whole account; null for an INFERENCE key. */
  account: { posted: string; held: string } | null
  /** Calls in flight, newest first; at most `shownHolds`. */
  holds: HoldRow[]
  /** The sum over all of them. */
  openHolds: number
}

export interface HoldRow {
  request: string
  amount: string
  sinceMs: number
  /** What the key is called; null for a wallet. */
  key: string | null
}

export const spendDays = [7, 30, 90] as const

/** Takes `{ days }`, one of `spendDays`. */
export interface SpendView {
  /** The first day and the last one. */
  from: string
  to: string
  totals: Sums
  /** `models` has the charges of the top models, in their order. */
  byDay: (Sums & { day: string; models: string[] })[]
  /** The models with the highest charges, each with its own colour in the chart. */
  topModels: string[]
  byModel: (Sums & { model: string })[]
}

/** `POST /account/api/requests` takes a filter, and returns a page of these. */
export interface RequestRow {
  request: string
  atMs: number
  model: string | null
  /** The label of the key that called, or its beginning; null for a wallet. */
  key: string | null
  charged: string
  refunded: string
  writtenOff: string
  staking: string
  paid: string
}

/** `POST /account/api/request` takes `{ request }`. */
export interface RequestView extends RequestRow {
  /** The amount on hold while the call runs; null once it has ended. */
  hold: string | null
  /** Unit prices in pico-USD. */
  lines: { sku: string; units: string; unitPricePico: string; amount: string }[]
  refundReason: string | null
  job: { state: string; failure: string | null } | null
  /** Signed receipts (JWS); null for a call in flight, or one that is too old to have one. */
  receipt: { charge: string; refund: string | null } | null
}

/** `POST /account/api/keys` takes a filter, and returns a page of these. */
export interface KeyRow {
  id: string
  prefix: string
  label: string
  role: 'INFERENCE' | 'ADMIN'
  state: 'active' | 'expired' | 'revoked'
  createdAtMs: number
  expiresAtMs: number | null
  lastUsedMs: number | null
  /** In the last 30 days. */
  paid: string
  budget: BudgetView | null
}

export interface BudgetView {
  period: 'epoch' | 'month' | 'lifetime'
  /** Limits; null is unlimited. */
  usd: string | null
  staking: string | null
  usedUsd: string
  heldUsd: string
  usedStaking: string
  /** When the next period begins; null for a budget that never resets. */
  nextMs: number | null
}

/** `POST /account/api/keys/create` returns the key, which is shown only once. */
export interface NewKey {
  id: string
  secret: string
}

/** `POST /account/api/limits` */
export interface LimitsView {
  plan: string
  /** Whether the caller has enough credit for a call. */
  accessPermitted: boolean
  rows: { model: string; requestsPerMinute: number | null; tokensPerMinute: number | null }[]
  /** The latest requests that a limit refused, newest first. */
  hits: { atMs: number; model: string; type: string; tier: string; key: string | null }[]
}

/** `POST /account/api/invoices` takes `{ after }`, and returns a page of these. */
export interface InvoiceMonth extends Sums {
  /** `2026-11` */
  month: string
  /** False until the month has ended. */
  isFinal: boolean
}

/** The charges for one model; null stands for everything that no other line names. */
export interface InvoiceLine extends Sums {
  model: string | null
}

/** `POST /account/api/invoice` takes `{ month }`. */
export interface InvoiceView {
  month: string
  account: string
  isFinal: boolean
  madeAtMs: number
  /** The month, `toMs` excluded. */
  fromMs: number
  toMs: number
  /** Lines from the service's configuration, or the service's address if it has none. */
  seller: string[]
  customer: { name: string | null; email: string | null }
  lines: InvoiceLine[]
  totals: Sums
  balanceBefore: string
  balanceAfter: string
}
