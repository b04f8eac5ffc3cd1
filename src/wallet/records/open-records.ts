import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '#contract/time.ts'
import { postgresRecords } from './postgres/postgres-records.ts'
import type { Answer, Records, Statement, Work } from './records.ts'
import { walletMigrations } from './schema.ts'
import type { State } from './state.ts'

/** Records in the state file, shared by all processes on one data folder. Each decision is complete when it returns. */
export function fileRecords(state: State, clock: Clock): Records {
  const prepared = (): State => {
    state.prepare('wallet', walletMigrations)
    return state
  }
  return {
    folder: state.folder,
    decide: async work => prepared().decide(database => carryOut(database, work(clock.now()))),
    read: async work => carryOut(prepared().database(), work(clock.now())),
    close: async () => state.close(),
  }
}

function carryOut<Result>(database: DatabaseSync, work: Work<Result>): Result {
  let step = work.next()
  while (!step.done) step = work.next(answer(database, step.value))
  return step.value
}

function answer(database: DatabaseSync, { text, values, isChange }: Statement): Answer {
  const statement = database.prepare(text)
  if (isChange) return { rows: [], changes: Number(statement.run(...values).changes) }
  return { rows: statement.all(...values), changes: 0 }
}

/** Opens the database that FAREBOX_JOURNAL_URL names, or the file in the data folder, on first use. */
export const openRecords = (state: State, clock: Clock, journalUrl: string | undefined): Records =>
  journalUrl ? postgresRecords(journalUrl) : fileRecords(state, clock)
