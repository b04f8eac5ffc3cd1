import type pg from 'pg'
import { isLoopback } from '#contract/wire/network-address.ts'
import * as limits from '../../limits.ts'
import type { Answer, Value } from '../work.ts'
import { JournalAway, readFailure, unusableJournal } from './failures.ts'

/** Where its tables are: one database is one journal and one budget, also beside the tables of a service. */
export const schema = 'farebox_wallet'

/** Nothing is sent before the first use. The address may carry a password and stands in no error. */
export async function openPool(url: string): Promise<pg.Pool> {
  // The driver's own complaint would repeat the address.
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol))
    throw unusableJournal('FAREBOX_JOURNAL_URL is no address of one', 'Write postgres://user:password@host:5432/name.')
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
  // A connection that breaks is noticed by its next query.
  pool.on('error', () => undefined)
  pool.on('connect', client => client.on('error', () => undefined))
  return pool
}

/**
 * Payments that can still be collected lie in the journal signed. What counts is what the driver makes of address and
 * environment; only the address itself may say that there is to be no TLS.
 */
function refuseInClear(driver: typeof pg, url: string): void {
  const { host, ssl } = readByDriver(driver, url)
  const isHere = host.startsWith('/') || isLoopback(host.includes(':') ? `[${host}]` : host)
  if (isHere || ssl || new URL(url).searchParams.getAll('sslmode').at(-1) === 'disable') return
  throw unusableJournal(
    'FAREBOX_JOURNAL_URL names another machine without TLS, so caps, payees and signed payments would cross the network in clear',
    'Add `?sslmode=verify-full` to the address, or `?sslmode=disable` where nobody else is on the way there.',
  )
}

function readByDriver({ Client }: typeof pg, url: string): pg.Client {
  try {
    return new Client({ connectionString: url })
  } catch {
    throw unusableJournal(
      'what FAREBOX_JOURNAL_URL says about TLS cannot be followed',
      'Look at its `sslmode`, and at the files that it names.',
    )
  }
}

/** Settings of one transaction, so that a pooler between may hand out any connection. A replica that vanished frees the lock. */
const settings = `SET LOCAL search_path = ${schema}, pg_temp; SET LOCAL synchronous_commit = on;
  SET LOCAL statement_timeout = ${limits.journalStatementMs};
  SET LOCAL idle_in_transaction_session_timeout = ${limits.journalIdleMs}`

/** Sends one text, which may hold several statements; returns what the last of them answered. */
export type Ask = (text: string, values?: readonly Value[]) => Promise<Answer>

/** Lends a connection. Throws `JournalAway` and refusals; one on which more than a refusal was met is not lent again. */
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

/** Begins a decision: waits for those of all other replicas to end. Returns the time by the database's clock. */
export const beginDecision = (ask: Ask): Promise<number> =>
  begin(ask, `BEGIN; ${settings}; SELECT one FROM journal FOR UPDATE; SELECT now_ms() AS now_ms`)

/** Begins reading: one moment, which waits for nobody. */
export const beginReading = (ask: Ask): Promise<number> =>
  begin(ask, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${settings}; SELECT now_ms() AS now_ms`)

const begin = async (ask: Ask, text: string): Promise<number> => Number((await ask(text)).rows[0]?.now_ms)
