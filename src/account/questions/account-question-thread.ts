import { answerTasks } from '#host/workers/thread-entry.ts'
import { type DatabasePlace, openReader } from '#ledger/store/open-store.ts'
import { awayReason, type Store } from '#ledger/store/store.ts'
import { answer, type Question, type QuestionName } from './answers.ts'

export interface AccountTask {
  database: DatabasePlace
  /** Of the tables in PostgreSQL. */
  schema: string
  /** Of the service's clock. */
  nowMs: number
  name: QuestionName
  question: unknown
}

/** Errors are data, because an exception would end the thread. A driver's own words may contain an address. */
export type AccountAnswer = { answer: unknown } | { failed: 'away' | 'late' | 'broken'; code: string }

/** PostgreSQL's error for a statement that its own time limit ended. */
const statementWasEnded = '57014'
/** A question has two parts at most, and more connections would be taken from the service. */
const connections = 2
/** PostgreSQL ends a statement after so long. */
const statementMs = 15_000
/** A customer hears soon that the database is away, and can reload the page. */
const attempts = 3

const pool = { name: 'farebox accounts', connections, statementMs, attempts }

let opened: Promise<Store['read']> | null = null

answerTasks(async ({ database, schema, nowMs, name, question }: AccountTask): Promise<AccountAnswer> => {
  try {
    opened ??= openReader(database, schema, pool)
    return { answer: await answer({ read: await opened }, name, question as Question<QuestionName>, nowMs) }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    if (code === statementWasEnded) return { failed: 'late', code }
    return { failed: awayReason(error) === null ? 'broken' : 'away', code }
  }
})
