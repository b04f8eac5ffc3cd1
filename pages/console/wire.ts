/** What the console and its server exchange. Amounts are strings of micro-USD, times are milliseconds since 1970. */

import type { ListPage, QrCode } from '../kit/wire.ts'

/** Each role includes the rights of those before it: read, help customers, decide on money and settings. */
export const operatorRoles = ['read', 'support', 'owner'] as const
export type OperatorRole = (typeof operatorRoles)[number]

/** How the operator signed in. */
export const waysIn = ['link', 'passkey', 'password'] as const
export type SignedInBy = (typeof waysIn)[number]

/** `GET /api/me` */
export interface Me {
  role: OperatorRole
  by: string
  /** When the session ends, even if it is in use. */
  untilMs: number
  /** The address of the API for callers. */
  publicUrl: string
  ledger: LedgerView
}

export interface LedgerView {
  state: 'open' | 'read_only'
  reason: string
}

/** The input of `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export interface PasskeyCreation {
  rp: { id: string; name: string }
  user: { id: string; name: string; displayName: string }
  challenge: string
  pubKeyCredParams: { type: 'public-key'; alg: number }[]
  excludeCredentials: KnownPasskey[]
  authenticatorSelection: { residentKey: 'required'; requireResidentKey: true; userVerification: 'required' }
  attestation: 'none'
}

/** The input of `PublicKeyCredential.parseRequestOptionsFromJSON`. */
export interface PasskeyRequest {
  rpId: string
  challenge: string
  userVerification: 'required'
  allowCredentials: KnownPasskey[]
}

interface KnownPasskey {
  type: 'public-key'
  id: string
  transports: string[]
}

/** `POST /api/sign-in`: how an operator may sign in at this address, without a session. */
export interface SignInWays {
  /** Null if browsers allow none. */
  passkey: PasskeyRequest | null
  /** The address of this console at which passkeys work, if it is a different one. */
  passkeysAt: string | null
}

/** `POST /api/your-sign-in` */
export interface YourSignIn {
  passkeys: { id: string; label: string; host: string; addedAtMs: number; usedAtMs: number | null }[]
  /** Null if passkeys are impossible at this address. */
  passkeyHost: string | null
  passkeysAt: string | null
  /** Null if the operator has no password. */
  passwordSinceMs: number | null
  sessions: SessionView[]
}

/** `POST /api/your-sign-in/password-request`: a new secret of one-time codes, which is shown only now. */
export interface PasswordSetup {
  /** Base32, as authenticators accept it. */
  secret: string
  uri: string
  qr: QrCode
  /** Sent back with the password and the first code. */
  setup: string
}

/** The minimum and the maximum length of a password. */
export const passwordCharacters = { least: 12, most: 256 }

export interface SessionView {
  session: string
  by: string
  role: OperatorRole
  how: SignedInBy
  beganAtMs: number
  usedAtMs: number
  isThis: boolean
}

/** `POST /api/prove/ways`: the ways in which this operator can prove their identity again. */
export interface ProofWays {
  passkey: PasskeyRequest | null
  /** Whether the operator has a password. */
  password: boolean
}

/** The outcome of an action, as a sentence. */
export interface Notice {
  said: string
}

/**
 * The number of requests, and the median and 95th percentile of their duration: milliseconds of two digits, null
 * without requests.
 */
export interface TimedRow {
  requests: number
  /** Failures of the service or its engines. */
  failed: number
  /** Refusals because of the caller. */
  refused: number
  p50Ms: number | null
  p95Ms: number | null
}

/** `POST /api/live`: requests of the last minutes. */
export interface LiveFigures extends TimedRow {
  minutes: number
  /** The number of the service's processes that the figures cover. */
  processes: { answered: number; of: number }
  /** The most used. */
  byModel: (TimedRow & { model: string })[]
  byCustomer: (TimedRow & Named)[]
  /** The latest failed or refused requests. */
  failures: RecentRequest[]
}

export interface RecentRequest {
  request: string
  operation: string
  status: number
  ms: number
  /** The last characters of its id. */
  account: string | null
  customer: string | null
  model: string | null
  engine: string | null
  atMs: number
}

/** `POST /api/recent`: null if this process no longer has the request. */
export interface Recent {
  request: RecentRequest | null
}

/** `POST /api/receipt`: signed receipts that anyone can verify with the service's keys. */
export interface SignedReceipt {
  charge: string
  refund: string | null
}

/** `POST /api/payment-problems`: the problems that keep payments from being settled, as sentences. */
export interface PaymentProblems {
  problems: string[]
}

/** `POST /api/operator/payment.check` */
export interface PaymentLooked {
  stage: PaymentView['stage']
  outcome: string
}

/** `POST /api/audit` */
export interface AuditResult {
  ok: boolean
  atMs: number
  tookMs: number
  counts: { name: string; count: number }[]
  driftMicroUsd: string
  findings: { kind: string; subject: string; sentence: string }[]
  findingsLeftOff: number
}

/**
 * The following types are answers of `POST /api/operator/NAME`. Amounts are decimal USD with six places, days are UTC.
 */

export interface Sums {
  requests: number
  chargedUsd: string
  refundedUsd: string
  writtenOffUsd: string
  stakingUsd: string
  /** What customers paid: the charges less the three amounts before it. */
  revenueUsd: string
  toppedUpUsd: string
  grantedUsd: string
}

export type DaySums = Sums & { day: string }
export type ModelSums = Sums & { model: string }

interface Named {
  customer: string
  name: string | null
}

export interface Overview {
  from: string
  to: string
  totals: Sums
  balances: { customers: number; suspended: number; balanceUsd: string; heldUsd: string }
  atRisk: { openHolds: number; openJobs: number; stuckPayments: number; stuckPaymentsUsd: string }
  ledger: LedgerView
  byDay: DaySums[]
  byModel: ModelSums[]
  byCustomer: (Sums & Named)[]
}

export const planNames = ['default', 'partner'] as const

export interface CustomerView extends Named {
  kind: 'wallet' | 'customer'
  email: string | null
  note: string | null
  plan: (typeof planNames)[number] | null
  state: 'active' | 'suspended'
  suspendedAtMs: number | null
  suspendedReason: string | null
  createdAtMs: number
  balanceUsd: string
  heldUsd: string
  availableUsd: string
}

export interface KeyView {
  key: string
  prefix: string
  label: string
  role: string
  state: 'active' | 'expired' | 'revoked'
  createdAtMs: number
  expiresAtMs: number | null
  budget: { period: string; usd: string | null; staking: string | null; usedUsd: string } | null
}

export interface ActView {
  number: number
  atMs: number
  actor: string
  act: string
  customer: string | null
  name: string | null
  subject: string | null
  reason: string | null
  before: unknown
  after: unknown
}

export interface LimitView extends Named {
  type: string
  model: string
  tier: string
  hits: number
  lastAtMs: number
}

export interface CustomerPage {
  customer: CustomerView
  from: string
  to: string
  totals: Sums
  byDay: DaySums[]
  byModel: ModelSums[]
  wallets: string[]
  keys: KeyView[]
  limits: LimitView[]
  acts: ActView[]
}

export const paymentStages = ['claimed', 'settling', 'unknown', 'credited', 'rejected', 'expired'] as const

export interface PaymentView {
  payment: string
  stage: (typeof paymentStages)[number]
  isOpen: boolean
  isStuck: boolean
  advice: string
  steps: string[]
  network: string | null
  payer: string | null
  customer: string | null
  amountUsd: string | null
  transaction: string | null
  createdAtMs: number
  updatedAtMs: number
}

export const jobStates = ['queued', 'running', 'completed', 'failed', 'deleted'] as const

export interface JobView extends Named {
  job: string
  state: (typeof jobStates)[number]
  model: string
  request: string
  chargedUsd: string
  isRefunded: boolean
  failure: string | null
  createdAtMs: number
  updatedAtMs: number
}

export const entryKinds = ['TOP_UP', 'CHARGE', 'REFUND', 'GRANT', 'STAKING', 'WRITE_OFF'] as const

export interface EntryView extends Named {
  number: number
  atMs: number
  kind: (typeof entryKinds)[number]
  amountUsd: string
  balanceAfterUsd: string
  request: string | null
  model: string | null
  sku: string | null
  units: string | null
  key: string | null
  reason: string | null
  ref: string
}

export interface RequestView {
  request: string
  customer: string | null
  name: string | null
  model: string | null
  chargedUsd: string
  refundedUsd: string
  writtenOffUsd: string
  isRefunded: boolean
  hold: { heldUsd: string; sinceMs: number } | null
  entries: EntryView[]
  job: JobView | null
}

export interface Limits {
  hits: LimitView[]
  blocks: { subject: string; untilMs: number }[]
}

export interface OperatorView {
  name: string
  role: OperatorRole
  passkeys: number
  hasPassword: boolean
  createdAtMs: number
}

/** Sums of one day, model or customer, or of several of them together. */
export interface UsageView extends Sums {
  day?: string
  model?: string
  customer?: string
  name?: string | null
}

/** The answer of each query. */
export interface OperatorReads {
  overview: Overview
  customers: ListPage<CustomerView & Sums>
  customer: CustomerPage
  payments: ListPage<PaymentView>
  jobs: ListPage<JobView>
  entries: ListPage<EntryView>
  usage: ListPage<UsageView> & { totals: Sums }
  request: RequestView
  limits: Limits
  acts: ListPage<ActView>
  operators: { operators: OperatorView[] }
}
