import type { ApiKeys } from '#access/keys/api-keys.ts'
import type { LimitLog } from '#access/limits/limit-log.ts'
import type { AccessSettings } from '#access/payment-required.ts'
import type { RateLimits } from '#contract/operations/rate-limits.ts'
import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { Funding } from '#ledger/charges/funding.ts'
import type { ChargeReceipts } from '#ledger/charges/receipts.ts'
import type { Store } from '#ledger/store/store.ts'
import type { AccountSession, AccountSessions } from './account-sessions.ts'

/** What an operator configures of the page. */
export interface AccountPageSettings {
  /** Stands on invoices: a name, and lines of an address or a tax number. */
  seller?: string | undefined
}

/** What the page shows and acts on: a part of the running service. */
export interface AccountParts {
  store: Store
  clock: Clock
  log: Log
  settings: Pick<AccessSettings, 'publicUrl' | 'plan' | 'limits'>
  page: AccountPageSettings
  keys: Pick<ApiKeys, 'find' | 'kept' | 'keptOne' | 'create' | 'revoke' | 'requireSecret'>
  funding: Pick<Funding, 'spendable' | 'isSuspended'>
  receipts: Pick<ChargeReceipts, 'of'>
  limitLog: Pick<LimitLog, 'read'>
  /** The limits of a caller, as the API answers them. */
  rateLimits(principal: Principal): Promise<RateLimits>
}

export interface RouteContext extends AccountParts {
  sessions: AccountSessions
}

interface Asked {
  body: object
  session: AccountSession
}

/** One operation of the page's API. */
export interface AccountRoute {
  /** Only for whom sees the whole account: a wallet, or an ADMIN key. */
  isForAccount?: true
  /** Returns what is sent as JSON, or a whole answer. Throws `AccountRefusal`, or an error of the API. */
  run(asked: Asked, context: RouteContext): Promise<unknown>
}

/** By method and path, such as `POST /account/api/requests`. */
export type AccountRoutes = Readonly<Record<string, AccountRoute>>

/** What was wrong with a request, and what to do. */
export class AccountRefusal extends Error {
  readonly status: number
  readonly happened: string
  readonly next: string

  constructor(status: number, happened: string, next: string) {
    super(`${happened} ${next}`)
    this.status = status
    this.happened = happened
    this.next = next
  }
}
