import type { Clock } from '#contract/time.ts'
import { PageRefusal } from '#host/pages/page-guards.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { QueryThread } from '#ledger/store/query-thread.ts'
import type { Ask, QueryName } from './answers.ts'

export interface AskedQuery {
  name: QueryName
  query: unknown
}

/** 90 days of a hundred models need a tenth of it. */
const heapMb = 128

const busySeconds = 2
const lateSeconds = 10

/** Answers customers' queries. Operators' queries have another thread, so neither delays the other. */
export class AccountQueries extends QueryThread<AskedQuery> {
  /** `database` is the configured address. */
  constructor(database: string, at: { clock: Clock; schema?: string }) {
    super(database, at, {
      name: 'account queries',
      url: threadUrl('account-query-thread', import.meta.url),
      heapMb,
      busy: () => new PageRefusal(503, 'Too many queries are waiting.', 'Try again in a few seconds.', busySeconds),
      late: () => new PageRefusal(503, 'This query takes too long.', 'Choose a shorter period.', lateSeconds),
      what: 'A query of the customers’ page',
    })
  }

  /** Throws `PageRefusal` if too many queries wait or one takes too long, and `StoreError` if the ledger is unreachable. */
  readonly ask: Ask = async (name, query) => (await this.answerTo({ name, query })) as never
}
