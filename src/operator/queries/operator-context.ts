import type { Clock } from '#contract/time.ts'
import type { LedgerWatch } from '#ledger/ledger-watch.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import type { OperatedBlocks } from './operated-blocks.ts'
import type { OperatorAnswer, OperatorInput, OperatorOrder, OperatorRead } from './wire.ts'

/**
 * The parts that operators' operations work on. A service has all of them; a command that opens only the ledger has the
 * first three.
 */
export interface OperatorContext {
  store: Store
  clock: Clock
  ledger: Pick<LedgerWatch, 'state'>
  /** Callers that are blocked; absent if this process serves no requests. */
  blocks?: OperatedBlocks
  /** Payments of this process; absent if it takes none. */
  payments?: OperatedPayments
  /** Runs queries without delaying requests; if absent, they run on this thread. */
  beside?: AskedBeside
  /** Committed with an action, which it lets the ledger refuse. */
  fence?: Op
}

/** What a look at a payment found. */
export type PaymentFound =
  | 'ended'
  | 'driven'
  | 'busy'
  | 'unreadable'
  | 'not_configured'
  | 'unreachable'
  | 'unconfirmed'
  | 'open'

export interface OperatedPayments {
  /** Drives a payment in flight now; null if there is no such payment. */
  lookAgain?(key: string): Promise<{ found: PaymentFound; problem: string | null } | null>
  /** What keeps payments from being settled, as sentences. */
  problems?(): readonly string[]
}

/** Throws `OperatorRefused`, `NotAnswered`, or a `StoreError` if the ledger is unreadable. */
export interface AskedBeside {
  ask<Name extends OperatorRead>(
    name: Name,
    input: OperatorInput<Name>,
    blocks?: OperatedBlocks,
  ): Promise<OperatorAnswer<Name>>
  csvPage<Name extends CsvTable>(name: Name, order: OperatorOrder<Name>): Promise<CsvPage>
}

/** The lists that can be exported. */
export type CsvTable = 'entries' | 'usage'

/** A part of an export; pass `next` as `after` to get the following part. */
export interface CsvPage {
  text: string
  next: string | null
}

/** A query was not answered because of other queries, or because it took too long. */
export class NotAnswered extends Error {
  override readonly name = 'NotAnswered'
  readonly happened: string
  readonly next: string
  readonly retryAfterSeconds: number

  constructor(happened: string, next: string, retryAfterSeconds: number, options?: ErrorOptions) {
    super(`${happened} ${next}`, options)
    this.happened = happened
    this.next = next
    this.retryAfterSeconds = retryAfterSeconds
  }
}
