/** What the console and its server exchange. Amounts are strings of micro-USD, times are milliseconds since 1970. */

import type { QrCode } from '../kit/wire.ts'

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
  byCustomer: (TimedRow & { customer: string; name: string | null })[]
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
  stage: (typeof paymentStages)[number]
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

export const planNames = ['default', 'partner'] as const
export const paymentStages = ['claimed', 'settling', 'unknown', 'credited', 'rejected', 'expired'] as const
export const jobStates = ['queued', 'running', 'completed', 'failed', 'deleted'] as const
export const entryKinds = ['TOP_UP', 'CHARGE', 'REFUND', 'GRANT', 'STAKING', 'WRITE_OFF'] as const

/** `POST /api/models` */
export interface ModelRow {
  model: string
  type: string
  /** Whether it is switched off, so that no caller can use it. */
  isOff: boolean
  /** As text, such as `0.1 USD per million input tokens`. */
  prices: string[]
  /** Calls that are waiting for a free upstream. */
  waiting: number
  /** How many calls may wait, and how long; null if it runs on a single engine. */
  queue: { length: number; waitMs: number } | null
  /** Whether one of its engines can be tried with a small call. */
  isTriable: boolean
  upstreams: UpstreamRow[]
}

export interface UpstreamRow {
  name: string
  /** Its share of the calls, relative to the others. */
  weight: number
  concurrency: number
  state: 'up' | 'trial' | 'down'
  running: number
  calls: number
  failures: number
}

/** `POST /api/models/try`: what came of one call. */
export interface ModelTried {
  outcome: 'works' | 'refused' | 'busy' | 'silent' | 'failed'
  tookMs: number
  said: string
  /** The image or the speech, if there is one. */
  made: { type: string; base64: string } | null
}

/**
 * `POST /api/settings`: the result of `farebox serve --check` on the current configuration file. It contains no secret.
 */
export interface SettingsView {
  faults: { line: number; column: number; field: string; sentence: string }[]
  /** Null if there are faults. */
  facts: {
    publicUrl: string
    listen: string
    rails: string[]
    proxies: string | null
    otherFeatures: string[]
    models: { id: string; type: string; engines: string[]; enabled: boolean }[]
  } | null
  /** Settings whose changes take effect only after a restart. */
  waitForRestart: string[]
  /** What owners may change here; null if there are faults. */
  edits: SettingsEdits | null
}

export interface SettingsEdits {
  /**
   * The version of the file as it is now. A change names it, and is refused if the file has another version by then.
   */
  version: string
  /** Whether the service runs with this version. If not, a change also loads what was edited by hand. */
  isLoaded: boolean
  plan: (typeof planNames)[number]
  models: { model: string; type: string; isOn: boolean; prices: PriceSetting[] }[]
  limits: LimitSetting[]
  limitTypes: string[]
}

export interface PriceSetting {
  /** Such as `inputPerMillionUsd` or `perSecondUsd.480p`. A star stands for a name to choose, such as a resolution. */
  name: string
  /** Null where the file has none; then it can be added. */
  usd: string | null
  /** Whether it can be removed. */
  isOptional: boolean
}

export const limitScopes = ['types', 'models', 'apiKey', 'global'] as const

/** A limit per minute in the file; null where the plan's limit applies. */
export interface LimitSetting {
  scope: (typeof limitScopes)[number]
  /** A type such as `image`, or a model's id. */
  name: string
  requestsPerMinute: number | null
  tokensPerMinute: number | null
}

export type SettingsChange =
  /** Null removes an optional price. */
  | { kind: 'price'; model: string; price: string; usd: string | null }
  | { kind: 'model'; model: string; isOn: boolean }
  | ({ kind: 'limit' } & LimitSetting)
  | { kind: 'plan'; plan: (typeof planNames)[number] }

/** `POST /api/settings/draft`: lines that begin with `-`, `+` or a space. Values that pages never show are dots. */
export interface SettingsDraft {
  diff: string[]
}
