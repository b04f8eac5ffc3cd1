import { rmSync } from 'node:fs'
import { fileRecords } from '#wallet/records/open-records.ts'
import { schema } from '#wallet/records/postgres/connection.ts'
import { postgresRecords } from '#wallet/records/postgres/postgres-records.ts'
import type { Records } from '#wallet/records/records.ts'
import { openState } from '#wallet/records/state.ts'
import { type Cluster, query } from '../postgres/cluster.ts'
import { fakeClock, temporaryFolder } from './sample-wallet.ts'

/** Separate records, and their clock, which moves only when a test moves it. */
export interface TestStore {
  /** As another process would open them. */
  open(): Records
  now(): number
  advance(ms: number): Promise<void>
  /** Runs statements beside the wallet and answers the rows of the last. */
  tamper(text: string): Promise<readonly unknown[]>
  dispose(): Promise<void>
}

export type OpenTestStore = () => Promise<TestStore>

/** One in a database; by its address other processes find it. */
export interface DatabaseTestStore extends TestStore {
  url: string
}

export const fileStore: OpenTestStore = async () => {
  const folder = temporaryFolder()
  const clock = fakeClock()
  const opened: Records[] = []
  return {
    open() {
      const records = fileRecords(openState(folder), clock)
      opened.push(records)
      return records
    },
    now: clock.now,
    advance: async ms => clock.advance(ms),
    async tamper(text) {
      const state = openState(folder)
      try {
        const statements = text.split(';').filter(statement => statement.trim() !== '')
        return statements.map(statement => state.database().prepare(statement).all()).at(-1) ?? []
      } finally {
        state.close()
      }
    },
    async dispose() {
      await Promise.all(opened.map(records => records.close()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A database of its own on the server, whose clock stands still. */
export const postgresStore =
  (cluster: () => Cluster): (() => Promise<DatabaseTestStore>) =>
  async () => {
    const name = cluster().newSchema()
    await cluster().asSuperuser(`CREATE DATABASE ${name} OWNER farebox`, 'postgres')
    const url = cluster().urlOf('farebox', name)
    const clock = fakeClock()
    const opened: Records[] = []
    const tamper = (text: string) => query(url, `SET search_path = ${schema}; ${text}`)
    const setClock = () =>
      tamper(`CREATE OR REPLACE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql AS 'SELECT ${clock.now()}::bigint'`)
    const open = () => {
      const records = postgresRecords(url)
      opened.push(records)
      return records
    }
    await open().read(function* () {})
    await setClock()
    return {
      url,
      open,
      now: clock.now,
      async advance(ms) {
        clock.advance(ms)
        await setClock()
      },
      tamper,
      async dispose() {
        await Promise.all(opened.map(records => records.close()))
      },
    }
  }
