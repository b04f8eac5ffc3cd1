import type pg from 'pg'
import { StoreError } from '../store.ts'
import {
  answerTimeoutMs,
  connectTimeoutMs,
  keepAliveDelayMs,
  oldestServerVersion,
  statementTimeoutMs,
} from './bounds.ts'

export interface Database {
  /** With its password; it appears in no error. */
  url: string
  schema: string
}

/** The database is there, but it is not one to keep money in, or not as it is set up. Trying again would not help. */
export class UnsuitableDatabase extends Error {}

/** Settings of every connection. The database says afterwards which of them it took. */
const settings = {
  /** An acknowledged commit is on the disk. */
  synchronous_commit: 'on',
  /** Each statement of the batch function sees what was committed before it, which its locks count on. */
  default_transaction_isolation: 'read committed',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  // Plans are made once, perhaps while the tables are empty, and are for single rows of large tables all the same.
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  statement_timeout: `${statementTimeoutMs}`,
  client_min_messages: 'warning',
} as const

/** A connection that may write: durable at each commit, or not opened at all. */
export async function connectForWriting({ url, schema }: Database): Promise<pg.Client> {
  const { default: driver } = await import('pg')
  const client = new driver.Client({
    connectionString: url,
    application_name: 'farebox',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
  })
  // A connection that breaks while it is idle is noticed by the next query.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await applySettings(client, { ...settings, search_path: searchPath(schema) })
    await checkServer(client)
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}

export const searchPath = (schema: string): string => `"${schema}", pg_temp`

export async function applySettings(client: pg.ClientBase, wanted: Readonly<Record<string, string>>): Promise<void> {
  const names = Object.keys(wanted)
  const calls = names.map((name, index) => `set_config('${name}', $${index + 1}, false)`)
  await client.query(`SELECT ${calls.join(', ')}`, Object.values(wanted))
}

interface Server {
  version: string
  fsync: string
  synchronous_commit: string
  encoding: string
  standby: boolean
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<Server>(`SELECT current_setting('server_version_num') AS version,
    current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby`)
  const [server] = rows
  if (!server) throw new UnsuitableDatabase('it does not answer questions about itself')
  // A standby may be about to take over, so this alone is worth another try.
  if (server.standby) throw new Error('The database is a standby and takes no writes.')
  if (server.fsync !== 'on') throw new UnsuitableDatabase('it runs with fsync off and would lose money in a power cut')
  if (server.synchronous_commit !== 'on') throw new UnsuitableDatabase('it does not take synchronous_commit = on')
  if (server.encoding !== 'UTF8') throw new UnsuitableDatabase('its encoding is not UTF8')
  if (Number(server.version) < oldestServerVersion) throw new UnsuitableDatabase('it is older than PostgreSQL 14')
}

export const unusableDatabase = (why: string, cause?: unknown): StoreError =>
  new StoreError('unusable_database', `The PostgreSQL database cannot be used: ${why}.`, { cause })
