import { type Clock, minuteMs } from '#contract/time.ts'
import { TaskFailed, TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { type DatabasePlace, databasePlace } from '#ledger/store/open-store.ts'
import { StoreError } from '#ledger/store/store.ts'
import { refuse } from '../operator-refused.ts'
import type { OperatedBlocks } from './operated-blocks.ts'
import { type AskedBeside, type CsvPage, type CsvTable, NotAnswered } from './operator-context.ts'
import type { OperatorAnswer, OperatorInput, OperatorOrder, OperatorRead } from './wire.ts'

export interface OperatorQueryTask {
  database: DatabasePlace
  /** The schema of the tables in PostgreSQL. */
  schema: string
  /** The service's time. */
  nowMs: number
  asked: { name: OperatorRead; input: unknown; blocked: Blocked } | { csv: CsvTable; order: unknown }
}

type Blocked = Awaited<ReturnType<OperatedBlocks['blocked']>>

/**
 * Errors are returned as data, because an exception would end the thread. A driver's message may contain an address.
 */
export type OperatorQueryAnswer =
  | { answer: unknown }
  | { refused: string }
  | { failed: 'away' | 'late' | 'broken'; code: string }

/** Each query takes tenths of a second at most, and PostgreSQL ends a statement earlier. */
const queryMs = 30_000

/** Enough for several consoles that load all their sections; further queries are refused. */
const waitingQueries = 32

/** How long the thread stays after its last query; a page reads again after 10 s. */
const idleMs = minuteMs

/**
 * For the rows of one query: more than two years of fifty models. It is collected often, so that the service stays
 * small.
 */
const heapMb = 256
const youngMb = 4

const busySeconds = 2
const lateSeconds = 10

/**
 * Answers operators' queries on a thread with its own connections, so that none of them delays a paying caller: SQLite
 * reads block their thread, and PostgreSQL has few connections.
 */
export class OperatorQueries implements AskedBeside {
  readonly #thread: TaskThread<OperatorQueryTask, OperatorQueryAnswer>
  readonly #database: DatabasePlace
  readonly #clock: Clock
  readonly #schema: string

  /** `database` is the configured address. */
  constructor(database: string, { clock, schema = 'farebox' }: { clock: Clock; schema?: string }) {
    this.#database = databasePlace(database)
    this.#clock = clock
    this.#schema = schema
    const url = threadUrl('operator-query-thread', import.meta.url)
    this.#thread = new TaskThread({
      ...{ name: 'queries', url, timeoutMs: queryMs, waiting: waitingQueries, idleMs, heapMb, youngMb },
    })
  }

  async ask<Name extends OperatorRead>(
    name: Name,
    input: OperatorInput<Name>,
    blocks?: OperatedBlocks,
  ): Promise<OperatorAnswer<Name>> {
    const blocked = name === 'limits' ? ((await blocks?.blocked()) ?? []) : []
    return (await this.#run({ name, input, blocked })) as OperatorAnswer<Name>
  }

  csvPage<Name extends CsvTable>(csv: Name, order: OperatorOrder<Name>): Promise<CsvPage> {
    return this.#run({ csv, order }) as Promise<CsvPage>
  }

  close(): Promise<void> {
    return this.#thread.close()
  }

  async #run(asked: OperatorQueryTask['asked']): Promise<unknown> {
    const task = { database: this.#database, schema: this.#schema, nowMs: this.#clock.now(), asked }
    const answer = await this.#thread.run(task).catch(error => {
      throw notRun(error)
    })
    if ('answer' in answer) return answer.answer
    if ('refused' in answer) throw refuse(answer.refused)
    const { failed, code } = answer
    if (failed === 'late') throw tooLate()
    if (failed === 'away') throw new StoreError('unreachable', `The ledger cannot be read (${code}).`)
    throw new Error(`An operator’s query failed (${code}).`)
  }
}

function notRun(error: unknown): unknown {
  if (error instanceof TaskFailed) return error.reason === 'late' ? tooLate(error) : error
  return new NotAnswered('Too many operators’ queries are waiting.', 'Try again in a few seconds.', busySeconds)
}

const tooLate = (cause?: unknown): NotAnswered =>
  new NotAnswered('This takes too long to answer.', 'Ask for fewer days, or for one customer.', lateSeconds, { cause })
