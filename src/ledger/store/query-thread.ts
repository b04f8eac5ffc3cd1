import type { Clock } from '#contract/time.ts'
import { minuteMs } from '#contract/time.ts'
import { TaskFailed, TaskThread } from '#host/workers/task-thread.ts'
import { answerTasks } from '#host/workers/thread-entry.ts'
import { type DatabasePlace, databasePlace, openReader } from './open-store.ts'
import { awayReason, type Store, StoreError } from './store.ts'

interface QueryTask<Asked> {
  database: DatabasePlace
  /** The schema of the tables in PostgreSQL. */
  schema: string
  /** The service's time. */
  nowMs: number
  asked: Asked
}

/** Errors are returned as data, because an exception would end the thread. A driver's message may contain an address. */
type QueryAnswer = { answer: unknown } | { failed: 'away' | 'late' | 'broken'; code: string }

/** Each query takes tenths of a second at most, and PostgreSQL ends a statement earlier. */
const queryMs = 30_000

/** Enough for several pages that load all their sections; an account may use a quarter. Further ones are refused. */
const waitingQueries = 32

/** How long the thread stays after its last query, before it frees its memory; a page reads again after 10 s. */
const idleMs = minuteMs

/** New objects are collected often, so that the service stays small. */
const youngMb = 4

interface QueryThreadOptions {
  /** Shown in thread lists. */
  name: string
  url: URL
  /** For the rows of one query. */
  heapMb: number
  /** The refusal when too many queries wait. */
  busy(): Error
  /** The refusal of a query that takes too long. */
  late(cause?: unknown): Error
  /** What failed, as the beginning of a sentence for the log. */
  what: string
}

/**
 * Answers queries on a thread with its own connections, so that none of them delays a paying caller: SQLite reads block
 * their thread, and PostgreSQL has few connections.
 */
export class QueryThread<Asked> {
  readonly #thread: TaskThread<QueryTask<Asked>, QueryAnswer>
  readonly #database: DatabasePlace
  readonly #clock: Clock
  readonly #schema: string
  readonly #options: QueryThreadOptions

  /** `database` is the configured address. */
  constructor(
    database: string,
    { clock, schema = 'farebox' }: { clock: Clock; schema?: string },
    options: QueryThreadOptions,
  ) {
    const { name, url, heapMb } = options
    this.#database = databasePlace(database)
    this.#clock = clock
    this.#schema = schema
    this.#options = options
    this.#thread = new TaskThread({
      ...{ name, url, timeoutMs: queryMs, waiting: waitingQueries, idleMs, heapMb, youngMb },
    })
  }

  /** Throws `busy`, `late`, or a `StoreError` if the ledger is unreachable. */
  async answerTo(asked: Asked): Promise<unknown> {
    const { busy, late, what } = this.#options
    const task = { database: this.#database, schema: this.#schema, nowMs: this.#clock.now(), asked }
    const answered = await this.#thread.run(task).catch(error => {
      if (!(error instanceof TaskFailed)) throw busy()
      throw error.reason === 'late' ? late(error) : error
    })
    if ('answer' in answered) return answered.answer
    const { failed, code } = answered
    if (failed === 'late') throw late()
    if (failed === 'away') throw new StoreError('unreachable', `The ledger cannot be read (${code}).`)
    throw new Error(`${what} failed (${code}).`)
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

/** PostgreSQL's error code for a statement that exceeded its time limit. */
const statementWasEnded = '57014'

const pool = {
  /** The parts of one query run on these at once. More would reduce what the service has. */
  connections: 2,
  /** PostgreSQL ends a statement after this time. */
  statementMs: 15_000,
  /** An unreachable database is reported soon, because a page can read again. */
  attempts: 3,
}

/** Answers the queries of a `QueryThread`, in its thread. `name` is the name of its connections. */
export function answerQueries<Asked>(
  name: string,
  answer: (read: Store['read'], asked: Asked, nowMs: number) => Promise<unknown>,
): void {
  let opened: Promise<Store['read']> | null = null
  answerTasks(async ({ database, schema, nowMs, asked }: QueryTask<Asked>): Promise<QueryAnswer> => {
    try {
      opened ??= openReader(database, schema, { name, ...pool })
      return { answer: await answer(await opened, asked, nowMs) }
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
      if (code === statementWasEnded) return { failed: 'late', code }
      return { failed: awayReason(error) === null ? 'broken' : 'away', code }
    }
  })
}
