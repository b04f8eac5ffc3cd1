import type pg from 'pg'
import { isLoopback } from '#contract/wire/network-address.ts'
import * as limits from '../../limits.ts'
import { WalletRefusal } from '../../terms/refusal.ts'
import type { Answer, Value } from '../records.ts'
import { type Migration, stepsLeft } from '../state.ts'

/** The schema of its tables: one database holds one journal and one budget, even beside a service's tables. */
export const schema = 'farebox_wallet'

/** Sends nothing before the first use. The address may contain a password and appears in no error. */
export async function openPool(url: string): Promise<pg.Pool> {
  // The driver's own error would repeat the address.
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol))
    throw unusableJournal(
      'FAREBOX_JOURNAL_URL is not the address of a PostgreSQL database',
      'Write postgres://user:password@host:5432/name.',
    )
  const { default: driver } = await import('pg')
  refuseInClear(driver, url)
  const pool = new driver.Pool({
    connectionString: url,
    application_name: 'farebox wallet',
    max: limits.journalConnections,
    connectionTimeoutMillis: limits.journalConnectMs,
    query_timeout: limits.journalAnswerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: limits.journalKeepAliveMs,
    allowExitOnIdle: true,
  })
  // The next query notices a broken connection.
  pool.on('error', () => undefined)
  pool.on('connect', client => client.on('error', () => undefined))
  return pool
}

/**
 * The journal contains signed payments that can still be collected, so it must not travel unencrypted. Checks how the
 * driver interprets the address and the environment; only the address itself may turn TLS off.
 */
function refuseInClear(driver: typeof pg, url: string): void {
  const { host, ssl } = readByDriver(driver, url)
  const isHere = host.startsWith('/') || isLoopback(host.includes(':') ? `[${host}]` : host)
  if (isHere || ssl || new URL(url).searchParams.getAll('sslmode').at(-1) === 'disable') return
  throw unusableJournal(
    'FAREBOX_JOURNAL_URL names another machine without TLS, so caps, payees and signed payments would cross the network unencrypted',
    'Add `?sslmode=verify-full` to the address, or `?sslmode=disable` on a network that you trust.',
  )
}

function readByDriver({ Client }: typeof pg, url: string): pg.Client {
  try {
    return new Client({ connectionString: url })
  } catch {
    throw unusableJournal(
      'the TLS settings in FAREBOX_JOURNAL_URL are invalid',
      'Check its `sslmode`, and the files that it names.',
    )
  }
}

/**
 * Settings per transaction, so that a pooler in between may use any connection. A replica that vanished loses its lock.
 */
const settings = `SET LOCAL search_path = ${schema}, pg_temp; SET LOCAL synchronous_commit = on;
  SET LOCAL statement_timeout = ${limits.journalStatementMs};
  SET LOCAL idle_in_transaction_session_timeout = ${limits.journalIdleMs}`

/** Sends a text, which may contain several statements; returns the answer of the last. */
export type Ask = (text: string, values?: readonly Value[]) => Promise<Answer>

/** Lends a connection. Throws `JournalAway` and refusals; after any other error the connection is not reused. */
export async function lend<Result>(pool: pg.Pool, run: (ask: Ask) => Promise<Result>): Promise<Result> {
  const client = await pool.connect().catch(failed)
  const ask: Ask = async (text, values) => {
    const answer = await (values ? client.query(text, [...values]) : client.query(text)).catch(failed)
    const last = Array.isArray(answer) ? answer.at(-1) : answer
    return { rows: last.rows, changes: last.rowCount ?? 0 }
  }
  try {
    const result = await run(ask)
    client.release()
    return result
  } catch (error) {
    const isUsable = !(error instanceof JournalAway) && (await client.query('ROLLBACK').then(yes, no))
    client.release(!isUsable)
    throw error
  }
}

const yes = () => true
const no = () => false

const failed = (error: unknown): never => {
  throw readFailure(error)
}

/** Begins a decision: waits until those of all other replicas have ended. Returns the time by the database's clock. */
export const beginDecision = (ask: Ask): Promise<number> =>
  begin(ask, `BEGIN; ${settings}; SELECT one FROM journal FOR UPDATE; SELECT now_ms() AS now_ms`)

/** Begins reading a snapshot, without waiting. */
export const beginReading = (ask: Ask): Promise<number> =>
  begin(ask, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${settings}; SELECT now_ms() AS now_ms`)

const begin = async (ask: Ask, text: string): Promise<number> => Number((await ask(text)).rows[0]?.now_ms)

const area = 'wallet'

/** Any number that nothing else in the database locks. */
const startLock = 5_118_402_771_903_364

const oldestServer = 140_000

/**
 * Checks the server and brings the tables up to date, completely or not at all; replicas that start together do so one
 * after another.
 */
export async function prepare(ask: Ask, steps: readonly Migration[]): Promise<void> {
  await checkServer(ask)
  if ((await isThere(ask)) && (await missing(ask, steps)).length === 0) return
  await ask(`BEGIN; SELECT pg_advisory_xact_lock(${startLock}); CREATE SCHEMA IF NOT EXISTS ${schema};
    SET LOCAL search_path = ${schema}, pg_temp;
    CREATE TABLE IF NOT EXISTS migrations (area TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (area, name))`)
  for (const { name, sql } of await missing(ask, steps)) {
    await ask(sql)
    await ask('INSERT INTO migrations (area, name) VALUES ($1, $2)', [area, name])
  }
  await ask('COMMIT')
}

async function isThere(ask: Ask): Promise<boolean> {
  const { rows } = await ask('SELECT to_regclass($1) IS NOT NULL AS there', [`${schema}.migrations`])
  return rows[0]?.there === true
}

async function missing(ask: Ask, steps: readonly Migration[]): Promise<readonly Migration[]> {
  const { rows } = await ask(`SELECT name FROM ${schema}.migrations WHERE area = $1`, [area])
  const done = rows.map(({ name }) => String(name))
  const left = stepsLeft(done, steps)
  if (left) return left
  throw unusableJournal(
    'another release of farebox wrote its tables',
    'Use that release, or name another database in FAREBOX_JOURNAL_URL.',
  )
}

async function checkServer(ask: Ask): Promise<void> {
  const { rows } = await ask(`SELECT current_setting('server_version_num') AS version,
    current_setting('fsync') AS fsync, current_setting('server_encoding') AS encoding`)
  const [server] = rows
  if (server?.fsync !== 'on')
    throw unusableJournal('its server runs with fsync off and would lose payments in a power cut', 'Switch fsync on.')
  if (server.encoding !== 'UTF8')
    throw unusableJournal('the encoding of its database is not UTF8', 'Create a database with the encoding UTF8.')
  if (Number(server.version) < oldestServer)
    throw unusableJournal('its server is older than PostgreSQL 14', 'Use a newer one.')
}

/** Thrown if the journal does not answer, or reports that it currently cannot: the same decision may be made again. */
export class JournalAway extends Error {
  /** A code of the system or the database, never a message, which may repeat the address or a signed payment. */
  readonly code: string

  constructor(code: string) {
    super(`The journal is unreachable (${code}).`)
    this.code = code
  }
}

/** SQLSTATEs of a lost connection, and of a server that starts, stops, fails, has no room, or is a standby. */
const away = /^(08|57P|28|3D|53|58|XX|25006|25P03|25P04)/
/** A lock timeout, a deadlock, a conflict. */
const busy = /^(40|55P03|57014)/

/**
 * Returns the meaning of a driver's error: unreachable, or a step that the tables do not allow. Its message is not
 * passed on.
 */
function readFailure(error: unknown): JournalAway | WalletRefusal {
  const code = codeOf(error)
  const isFromDatabase = /^[0-9A-Z]{5}$/.test(code) && error instanceof Error && 'severity' in error
  if (!isFromDatabase || away.test(code) || busy.test(code)) return new JournalAway(code)
  return code === insufficientPrivilege ? noRight() : refusedStep(code)
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'no answer'
}

export const journalAway = (code: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'journal-away',
    sentence: `The wallet's journal in PostgreSQL does not answer (${code}), and nothing is signed without it.`,
    nextStep: 'Try again when the database is back, or ask its operator to check FAREBOX_JOURNAL_URL.',
  })

const unusableJournal = (why: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'state',
    sentence: `The wallet's journal in PostgreSQL cannot be used: ${why}. Nothing is signed without it.`,
    nextStep,
  })

const refusedStep = (code: string): WalletRefusal =>
  unusableJournal(`its database refused a step (SQLSTATE ${code})`, 'Check the log of the database.')

const insufficientPrivilege = '42501'

const noRight = (): WalletRefusal =>
  unusableJournal(
    'its role may not create or use the tables',
    'Grant it CREATE on the database, or let its owner start the wallet once.',
  )
