import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import {
  answerTimeoutMs,
  connectTimeoutMs,
  firstRetryMs,
  keepAliveDelayMs,
  longestRetryMs,
  oldestServerVersion,
  sendAttempts,
  sendAttemptsForMs,
  statementTimeoutMs,
  troubleAfterMs,
} from '../../bounds.ts'
import { StoreError } from '../store.ts'

export interface Database {
  /** Includes its password; appears in no error. */
  url: string
  schema: string
}

/** The database exists, but it or its configuration is not suitable for money. Retrying would not help. */
export class UnsuitableDatabase extends Error {}

/** Settings of every connection, which are verified afterwards. */
const settings = {
  /** An acknowledged commit is on disk. */
  synchronous_commit: 'on',
  /** Each statement of the batch function sees what was committed before it, which its locks rely on. */
  default_transaction_isolation: 'read committed',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  // Plans are made once, perhaps while the tables are empty, but must suit single rows of large tables.
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  statement_timeout: `${statementTimeoutMs}`,
  client_min_messages: 'warning',
} as const

/** Opens a connection that may write: durable at each commit, or not opened at all. */
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
  // The next query notices a connection that broke while idle.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const session = await applySettings(client, { ...settings, search_path: searchPath(schema) })
    await checkServer(client, session)
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}

export const searchPath = (schema: string): string => `"${schema}", pg_temp`

/** Returns the server process that has these settings now. */
export async function applySettings(client: pg.ClientBase, wanted: Readonly<Record<string, string>>): Promise<number> {
  const names = Object.keys(wanted)
  const calls = names.map((name, index) => `set_config('${name}', $${index + 1}, false)`)
  const text = `SELECT pg_backend_pid() AS session, ${calls.join(', ')}`
  const { rows } = await client.query<{ session: unknown }>(text, Object.values(wanted))
  return Number(rows[0]?.session)
}

interface Server {
  session: number
  version: string
  fsync: string
  synchronous_commit: string
  encoding: string
  standby: boolean
}

async function checkServer(client: pg.Client, session: number): Promise<void> {
  const { rows } =
    await client.query<Server>(`SELECT pg_backend_pid() AS session, current_setting('server_version_num') AS version,
    current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby`)
  const [server] = rows
  if (!server) throw new UnsuitableDatabase('it does not answer queries about its settings')
  if (server.session !== session) throw sessionsShared()
  // A standby may be about to become the primary, so only this failure is worth retrying.
  if (server.standby) throw new Error('The database is a standby and accepts no writes.')
  if (server.fsync !== 'on') throw new UnsuitableDatabase('it runs with fsync off and would lose money in a power cut')
  if (server.synchronous_commit !== 'on') throw new UnsuitableDatabase('it does not accept synchronous_commit = on')
  if (server.encoding !== 'UTF8') throw new UnsuitableDatabase('its encoding is not UTF8')
  if (Number(server.version) < oldestServerVersion) throw new UnsuitableDatabase('it is older than PostgreSQL 14')
}

/** Returns the server process of a connection. */
export const sessionText = 'SELECT pg_backend_pid() AS session'

/**
 * A pooler that lends server processes for single statements would lose the settings of connections, such as
 * `synchronous_commit`, and give them to others.
 */
export const sessionsShared = (): UnsuitableDatabase =>
  new UnsuitableDatabase(
    'a connection pooler shares connections between statements; use its session mode, or connect to the server directly',
  )

export const unusableDatabase = (why: string, cause?: unknown): StoreError =>
  new StoreError('unusable_database', `The PostgreSQL database cannot be used: ${why}.`, { cause })

/** The database stayed unreachable for all attempts. `isLost` says whether it may have applied a statement. */
export class DatabaseAway extends Error {
  readonly isLost: boolean

  constructor(isLost: boolean, cause: unknown) {
    super('The database did not answer.', { cause })
    this.isLost = isLost
  }
}

/**
 * The only connection that writes. If it is lost, the same statement is sent again over a new one, so callers send only
 * statements that may be repeated.
 */
export class WriterLink {
  readonly #database: Database
  readonly #attempts: number
  readonly #onTrouble: OnTrouble
  #client: pg.Client | null

  private constructor(
    database: Database,
    client: pg.Client,
    { most = sendAttempts, onTrouble = () => {} }: LinkOptions,
  ) {
    this.#database = database
    this.#attempts = most
    this.#onTrouble = onTrouble
    this.#client = this.#watched(client)
  }

  static open = async (database: Database, options: LinkOptions = {}): Promise<WriterLink> =>
    new WriterLink(database, await connectForWriting(database), options)

  /** Throws the database's refusals unchanged, and `DatabaseAway` if it could not be reached. */
  async send<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    let isLost = false
    const startedAt = performance.now()
    const givesUpAt = startedAt + sendAttemptsForMs
    const trouble = troubleWatch(this.#onTrouble)
    for (let attempt = 1; ; attempt++) {
      let isSent = false
      try {
        this.#client ??= this.#watched(await connectForWriting(this.#database))
        isSent = true
        return await this.#client.query<Row>(query)
      } catch (error) {
        const isStandby = isStatementError(error) && isNoPrimary(error)
        // After a lost answer, a timeout for its locks or a full disk says nothing about what the first sending did.
        const isOutcome =
          isStatementError(error) && !isStandby && !(isLost && (isServerFault(error) || isTransient(error)))
        if (isOutcome && (await this.#answers())) {
          if (isTransient(error)) this.#reportWait(error, performance.now() - startedAt)
          throw error
        }
        isLost ||= isSent && !isStandby
        await this.#drop()
        trouble(error)
        const isLast = attempt >= this.#attempts || performance.now() > givesUpAt
        if (isLast || error instanceof UnsuitableDatabase) throw new DatabaseAway(isLost, error)
        await sleep(pauseMs(attempt))
      }
    }
  }

  /** All calls wait with a statement that waits for a lock, for example of a transaction that was left open in psql. */
  #reportWait(error: unknown, forMs: number): void {
    if (forMs >= troubleAfterMs) this.#onTrouble(error, forMs)
  }

  /** A connection that breaks while idle carried nothing, so the next statement does not count as sent over it. */
  #watched(client: pg.Client): pg.Client {
    return client.once('end', () => {
      if (this.#client === client) this.#client = null
    })
  }

  async close(): Promise<void> {
    await this.#drop()
  }

  /**
   * A panic, for example because of a full disk, has the code of an ordinary error, but ends the connection with an
   * unknown outcome.
   */
  async #answers(): Promise<boolean> {
    if (!this.#client) return false
    return this.#client.query('SELECT 1').then(
      () => true,
      () => false,
    )
  }

  async #drop(): Promise<void> {
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => undefined)
  }
}

export type OnTrouble = (error: unknown, forMs: number) => void

interface LinkOptions {
  most?: number
  onTrouble?: OnTrouble
}

/** Called for each failed attempt; reports them once they have failed for a while. */
export function troubleWatch(onTrouble: OnTrouble): (error: unknown) => void {
  let sinceMs: number | null = null
  return error => {
    sinceMs ??= performance.now()
    const forMs = performance.now() - sinceMs
    if (forMs >= troubleAfterMs) onTrouble(error, forMs)
  }
}

/** The first retry is immediate: usually a single connection was cut, and the database is there. */
export const pauseMs = (attempt: number): number =>
  attempt === 1 ? 0 : Math.min(firstRetryMs * 2 ** (attempt - 2), longestRetryMs)

/** Classifies database errors by SQLSTATE alone, because severity and message are in the server's language. */

/** An error reported by the database itself. */
type DatabaseError = Error & { code: string; table?: string }

/** System errors also have five-letter codes (EPIPE), but with a number beside them. */
const isDatabaseError = (error: unknown): error is DatabaseError =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^[0-9A-Z]{5}$/.test(error.code) &&
  !('errno' in error)

/**
 * The connection is lost or was never made: connection errors, shutdown, a terminated session, too many connections, a
 * missing role or database.
 */
const lostConnection = /^(08|57P|28|3D|53300|25P03|25P04)/

/**
 * Whether the database refused a statement, so that nothing of it was kept; the connection continues, except after a
 * panic.
 */
export const isStatementError = (error: unknown): error is DatabaseError =>
  isDatabaseError(error) && !lostConnection.test(error.code)

/** The server, the database or the role has no connection left. */
export const isOutOfConnections = (error: unknown): boolean => isDatabaseError(error) && error.code === '53300'

/** A write was refused because the database has become a standby: another one is the primary now. */
const isNoPrimary = ({ code }: DatabaseError): boolean => code === '25006'

/** Deadlock, conflict, timeout, too few locks: these say nothing about the units. */
const transientCodes = new Set(['40P01', '40001', '55P03', '57014', '53200'])

export const isTransient = (error: unknown): boolean => isStatementError(error) && transientCodes.has(error.code)

/** Classes of a full disk, of other resources that ran out, and of I/O errors. */
const serverFault = /^(53|58)/

/** Whether the server has no room or fails, so that any other statement would fail as well. */
export const isServerFault = (error: unknown): boolean => isStatementError(error) && serverFault.test(error.code)

const checkViolation = '23514'
const uniqueViolation = '23505'
/** Raised by the trigger that makes entries append-only. */
const entryChangeRefused = 'FB002'

/** A rule of the tables refused a row. A unit checks before it writes, so consistent rows never cause this. */
export const isBrokenRule = (error: unknown): boolean =>
  isDatabaseError(error) &&
  (error.code === checkViolation ||
    error.code === entryChangeRefused ||
    (error.code === uniqueViolation && error.table === 'entry'))
