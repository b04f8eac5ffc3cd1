import type { SharedLimits } from '#access/limits/shared/shared-limits.ts'
import type { Clock } from '#contract/time.ts'
import type { LedgerWatch } from '#ledger/ledger-watch.ts'
import type { Store } from '#ledger/store/store.ts'
import type { CsvTable } from './entries.ts'
import type { OperatorAnswer, OperatorInput, OperatorOrder, OperatorRead } from './wire.ts'

/** What the operator's operations work on. A service has all of it, a command on the ledger alone only the first three. */
export interface OperatorContext {
  store: Store
  clock: Clock
  ledger: Pick<LedgerWatch, 'state'>
  /** Those that this process knows; absent where nothing is served. */
  blocks?: Pick<SharedLimits['block'], 'blocked' | 'lift'>
  /** Answers questions beside requests; where absent, they are answered on this thread. */
  beside?: AskedBeside
}

type Blocks = OperatorContext['blocks']

/** Throws `OperatorRefused`, `NotAnswered`, or a `StoreError` where the ledger cannot be read. */
export interface AskedBeside {
  ask<Name extends OperatorRead>(name: Name, input: OperatorInput<Name>, blocks?: Blocks): Promise<OperatorAnswer<Name>>
  csvPage<Name extends CsvTable>(name: Name, order: OperatorOrder<Name>): Promise<CsvPage>
}

/** A part of a list as a file; `next` is `after` of the part that follows. */
export interface CsvPage {
  text: string
  next: string | null
}

/** A question was not answered because of other questions, or because it takes too long. */
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
