import { join } from 'node:path'
import type { Clock } from '#contract/time.ts'
import { openRecords } from '#wallet/records/open-records.ts'
import { schema } from '#wallet/records/postgres/connection.ts'
import { all, type Records } from '#wallet/records/records.ts'
import { openState } from '#wallet/records/state.ts'
import { Cluster, query } from '../../postgres/cluster.ts'
import type { StoreName } from '../fault-run.ts'

/** The journal of one round, where its processes find it, and its clock. */
export interface RoundJournal {
  /** One folder for all, or with a database one each. */
  folderOf(process: number): string
  url: string | null
  skewMs: number
  /** Moves the clock of all who decide on it. */
  advance(ms: number): Promise<void>
  /** As its owner opens it; the caller closes it. */
  open(): Records
  /** Statement that answers every step of every payment, oldest first. */
  stepsInOrder: string
}

/** Where the journals of a run are kept, one round after the other. */
export interface Journals {
  begin(folder: string): Promise<RoundJournal>
  end(): Promise<void>
}

export const openJournals = async (store: StoreName): Promise<Journals> =>
  store === 'postgres' ? inPostgres(await Cluster.start()) : inFiles

const stepsBy = (order: string): string => `SELECT payment_id, state FROM payment_steps ORDER BY ${order}`

const inFiles: Journals = {
  async begin(folder) {
    const journal: RoundJournal = {
      folderOf: () => join(folder, 'wallet'),
      url: null,
      skewMs: 0,
      async advance(ms) {
        journal.skewMs += ms
      },
      open: () => openRecords(openState(join(folder, 'wallet')), clockOf(journal), undefined),
      stepsInOrder: stepsBy('rowid'),
    }
    return journal
  },
  end: async () => undefined,
}

const clockOf = (journal: RoundJournal): Clock => ({ now: () => Date.now() + journal.skewMs })

function inPostgres(cluster: Cluster): Journals {
  const { url } = cluster
  return {
    async begin(folder) {
      await query(url, `DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      const journal: RoundJournal = {
        folderOf: process => join(folder, `wallet-${process}`),
        url,
        skewMs: 0,
        async advance(ms) {
          journal.skewMs += ms
          await query(
            url,
            `CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE
             AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${journal.skewMs}'`,
          )
        },
        open: () => openRecords(openState(join(folder, 'owner')), clockOf(journal), url),
        // Rows are only ever added, so that their places are in the order of their coming.
        stepsInOrder: stepsBy('at_ms, ctid'),
      }
      const records = journal.open()
      await records.read(() => all('SELECT 1'))
      await records.close()
      return journal
    },
    end: () => cluster.stop(),
  }
}
