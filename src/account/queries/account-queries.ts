import { type Clock, minuteMs } from '#contract/time.ts'
import { PageRefusal } from '#host/pages/page-refusal.ts'
import { TaskFailed, TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { type DatabasePlace, databasePlace } from '#ledger/store/open-store.ts'
import { StoreError } from '#ledger/store/store.ts'
import type { AccountAnswer, AccountTask } from './account-query-thread.ts'
import type { Ask } from './answers.ts'

/** A query takes tenths of a second, and PostgreSQL ends a statement earlier. */
const queryMs = 30_000
/** Each account may use a quarter of these; a page sends about three queries at once. */
const waitingQueries = 32
/** The thread ends after this time without a query, and frees its memory. */
const idleMs = minuteMs
/** For the rows of one query: 90 days of a hundred models need a tenth of it. */
const heapMb = 128
const youngMb = 4

const busySeconds = 2
const lateSeconds = 10

/**
 * Answers customers' queries on a thread with its own connections: SQLite reads block their thread, so a long query
 * would otherwise delay paid calls. Operators' queries have another thread, so neither delays the other.
 */
export class AccountQueries {
  readonly #thread: TaskThread<AccountTask, AccountAnswer>
  readonly #database: DatabasePlace
  readonly #schema: string
  readonly #clock: Clock

  /** `database` is the configured address. */
  constructor(database: string, { clock, schema = 'farebox' }: { clock: Clock; schema?: string }) {
    this.#database = databasePlace(database)
    this.#schema = schema
    this.#clock = clock
    const url = threadUrl('account-query-thread', import.meta.url)
    this.#thread = new TaskThread({
      ...{ name: 'account queries', url, timeoutMs: queryMs, waiting: waitingQueries, idleMs, heapMb, youngMb },
    })
  }

  /** Throws `PageRefusal` if too many queries wait or one takes too long, and `StoreError` if the ledger is unreachable. */
  readonly ask: Ask = async (name, query) => {
    const task = { database: this.#database, schema: this.#schema, nowMs: this.#clock.now(), name, query }
    const answered = await this.#thread.run(task).catch(error => {
      throw notRun(error)
    })
    if ('answer' in answered) return answered.answer as never
    const { failed, code } = answered
    if (failed === 'late') throw tooLate()
    if (failed === 'away') throw new StoreError('unreachable', `The ledger cannot be read (${code}).`)
    throw new Error(`A query of the customers’ page failed (${code}).`)
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

function notRun(error: unknown): unknown {
  if (error instanceof TaskFailed) return error.reason === 'late' ? tooLate() : error
  return new PageRefusal(503, 'Too many queries are waiting.', 'Try again in a few seconds.', busySeconds)
}

const tooLate = () => new PageRefusal(503, 'This query takes too long.', 'Choose a shorter period.', lateSeconds)
