import { answerTasks } from '#host/workers/thread-entry.ts'
import { type DatabasePlace, openReader } from '#ledger/store/open-store.ts'
import { awayReason, type Store } from '#ledger/store/store.ts'
import { answer, type Query, type QueryName } from './answers.ts'

export interface AccountTask {
  database: DatabasePlace
  /** The schema of the tables in PostgreSQL. */
  schema: string
  /** The service's time. */
  nowMs: number
  name: QueryName
  query: unknown
}

/** Errors are returned as data, because an exception would end the thread. A driver's message may contain an address. */
export type AccountAnswer = { answer: unknown } | { failed: 'away' | 'late' | 'broken'; code: string }

/** PostgreSQL's error code for a statement that exceeded its time limit. */
const statementWasEnded = '57014'
/** A query has two parts at most, and more connections would reduce what the service has. */
const connections = 2
/** PostgreSQL ends a statement after this time. */
const statementMs = 15_000
/** An unreachable database is reported soon, and the customer can reload the page. */
const attempts = 3

const pool = { name: 'farebox accounts', connections, statementMs, attempts }

let opened: Promise<Store['read']> | null = null

answerTasks(async ({ database, schema, nowMs, name, query }: AccountTask): Promise<AccountAnswer> => {
  try {
    opened ??= openReader(database, schema, pool)
    return { answer: await answer({ read: await opened }, name, query as Query<QueryName>, nowMs) }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    if (code === statementWasEnded) return { failed: 'late', code }
    return { failed: awayReason(error) === null ? 'broken' : 'away', code }
  }
})
