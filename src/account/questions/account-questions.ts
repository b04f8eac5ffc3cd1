import { type Clock, minuteMs } from '#contract/time.ts'
import { PageRefusal } from '#host/pages/page-refusal.ts'
import { TaskFailed, TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { type DatabasePlace, databasePlace } from '#ledger/store/open-store.ts'
import { StoreError } from '#ledger/store/store.ts'
import type { AccountAnswer, AccountTask } from './account-question-thread.ts'
import type { Ask } from './answers.ts'

/** A question takes tenths of a second; PostgreSQL itself ends one earlier. */
const questionMs = 30_000
/** Each account may have a quarter of these, and a page asks for about three at once. */
const waitingQuestions = 32
/** The thread ends after so long without a question, and frees its memory. */
const idleMs = minuteMs
/** For the rows of one question: 90 days of a hundred models need a tenth of it. */
const heapMb = 128
const youngMb = 4

const busySeconds = 2
const lateSeconds = 10

/**
 * Answers customers' questions on a thread with connections of its own. SQLite reads on the thread that asks, so a long
 * question would otherwise delay paid calls; and operators' questions have another thread, so neither delays the other.
 */
export class AccountQuestions {
  readonly #thread: TaskThread<AccountTask, AccountAnswer>
  readonly #database: DatabasePlace
  readonly #schema: string
  readonly #clock: Clock

  /** `database` as it is configured. */
  constructor(database: string, { clock, schema = 'farebox' }: { clock: Clock; schema?: string }) {
    this.#database = databasePlace(database)
    this.#schema = schema
    this.#clock = clock
    const url = threadUrl('account-question-thread', import.meta.url)
    this.#thread = new TaskThread({
      ...{ name: 'account questions', url, timeoutMs: questionMs, waiting: waitingQuestions, idleMs, heapMb, youngMb },
    })
  }

  /** Throws `PageRefusal` if too many questions wait or one takes too long, `StoreError` if the ledger is away. */
  readonly ask: Ask = async (name, question) => {
    const task = { database: this.#database, schema: this.#schema, nowMs: this.#clock.now(), name, question }
    const answered = await this.#thread.run(task).catch(error => {
      throw notRun(error)
    })
    if ('answer' in answered) return answered.answer as never
    const { failed, code } = answered
    if (failed === 'late') throw tooLate()
    if (failed === 'away') throw new StoreError('unreachable', `The ledger cannot be read (${code}).`)
    throw new Error(`A question of the account’s page failed (${code}).`)
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

function notRun(error: unknown): unknown {
  if (error instanceof TaskFailed) return error.reason === 'late' ? tooLate() : error
  return new PageRefusal(
    503,
    'The service is answering too many questions.',
    'Try again in a few seconds.',
    busySeconds,
  )
}

const tooLate = () => new PageRefusal(503, 'This takes too long to add up.', 'Choose fewer days.', lateSeconds)
