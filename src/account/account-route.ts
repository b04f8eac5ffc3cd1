import type { CallerIdentity } from '#access/identity/caller-identity.ts'
import type { WalletSignIn } from '#access/identity/wallet-sign-in.ts'
import type { ApiKeys } from '#access/keys/api-keys.ts'
import type { Guards } from '#access/limits/guards.ts'
import type { LimitLog } from '#access/limits/limit-log.ts'
import type { AccessSettings } from '#access/payment-required.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { RateLimits } from '#contract/operations/rate-limits.ts'
import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { Funding } from '#ledger/charges/funding.ts'
import type { ChargeReceipts } from '#ledger/charges/receipts.ts'
import type { Store } from '#ledger/store/store.ts'
import type { AccountSession, AccountSessions } from './account-sessions.ts'
import type { Ask } from './queries/answers.ts'

/** The page's part of the service's configuration. */
export interface AccountPageSettings {
  /** Printed on invoices: a name, then lines such as an address and a tax number. */
  seller?: string | undefined
}

/** The parts of the running service that the page shows and changes. */
export interface AccountParts {
  store: Store
  clock: Clock
  log: Log
  settings: Pick<AccessSettings, 'publicUrl' | 'plan' | 'limits'>
  page: AccountPageSettings
  keys: Pick<ApiKeys, 'find' | 'kept' | 'keptOne' | 'create' | 'setBudget' | 'revoke' | 'requireSecret'>
  funding: Pick<Funding, 'spendable' | 'stakingToday' | 'isSuspended'>
  receipts: Pick<ChargeReceipts, 'of'>
  /** The limits of the API, which count this page's actions too. */
  guards: Pick<Guards, 'take'>
  limitLog: Pick<LimitLog, 'read'>
  identity: Pick<CallerIdentity, 'pageSignIn'>
  payments: PaymentDrafts
  /** The limits of a caller, as in the API. */
  rateLimits(principal: Principal): Promise<RateLimits>
}

interface PaymentDrafts {
  /** Returns the payment for a wallet on this network to sign, base64; null if wallets compose it themselves. */
  draft?(order: { network: string; payer: string; amount: MicroUsd }): Promise<string | null>
}

export interface RouteContext extends AccountParts {
  sessions: AccountSessions
  /** Reads the ledger without delaying paid calls. */
  ask: Ask
  /** Verifies the messages that wallets sign for this page. */
  walletSignIn: Pick<WalletSignIn, 'signIn'>
}

interface Asked {
  body: object
  session: AccountSession
}

/** One operation of the page's API. */
interface AccountRoute {
  /** Only for a wallet or an ADMIN key, which see the whole account. */
  isForAccount?: true
  /** Returns a value to send as JSON, or a complete response. Throws `PageRefusal`, or an error of the API. */
  run(asked: Asked, context: RouteContext): Promise<unknown>
}

/** By method and path, such as `POST /account/api/requests`. */
export type AccountRoutes = Readonly<Record<string, AccountRoute>>
