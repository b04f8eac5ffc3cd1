import type { Clock } from '#contract/time.ts'
import { fileRecords } from './file-records.ts'
import { postgresRecords } from './postgres/postgres-records.ts'
import type { Records } from './records.ts'
import type { State } from './state.ts'

/** In the database that FAREBOX_JOURNAL_URL names, else in the file of the data folder. Opened by their first use. */
export const openRecords = (state: State, clock: Clock, journalUrl: string | undefined): Records =>
  journalUrl ? postgresRecords(journalUrl) : fileRecords(state, clock)
