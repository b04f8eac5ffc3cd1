import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely'
import type pg from 'pg'
import { StoreError } from '../store.ts'
import { narrowRow, type Tables } from '../tables.ts'
import {
  attempts,
  attemptsForMs,
  connectTimeoutMs,
  keepAliveDelayMs,
  readAnswerTimeoutMs,
  readConnections,
  readTimeoutMs,
} from './bounds.ts'
import { applySettings, type Database, searchPath } from './connection.ts'
import { isStatementError, type OnTrouble, pauseMs, troubleWatch } from './link.ts'

/** Codes of PostgreSQL's types that hold whole numbers, and of those that may. */
const integerTypes = new Set([20, 21, 23])
const numericType = 1700

/** Reads the tables, and only reads. A lost connection is replaced and the same read made again. `destroy()` ends it. */
export async function openPostgresReader(database: Database, onTrouble: OnTrouble = () => {}): Promise<Kysely<Tables>> {
  const pool = await readingPool(database)
  const dialect = new PostgresDialect({ pool: statementsOf(pool, onTrouble) })
  return new Kysely<Tables>({ dialect })
}

async function readingPool({ url, schema }: Database): Promise<pg.Pool> {
  const { default: driver } = await import('pg')
  const pool = new driver.Pool({
    connectionString: url,
    application_name: 'farebox reads',
    max: readConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: readAnswerTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    allowExitOnIdle: true,
    types: exactTypes(driver.types),
    onConnect: client =>
      applySettings(client, {
        default_transaction_read_only: 'on',
        search_path: searchPath(schema),
        statement_timeout: `${readTimeoutMs}`,
        jit: 'off',
      }),
  })
  // An idle connection that breaks is out of the pool by then.
  pool.on('error', () => undefined)
  return pool
}

/** Whole numbers come as bigints, and are narrowed by the names of their columns. */
export const exactTypes = (types: typeof pg.types): pg.CustomTypesConfig => ({
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (integerTypes.has(oid)) return BigInt
    if (oid === numericType) return exactNumeric
    return types.getTypeParser(oid, format as 'text')
  }) as typeof pg.types.getTypeParser,
})

/** A sum is exact; an average is no whole number. */
const exactNumeric = (text: string): bigint | number => (/^-?\d+$/.test(text) ? BigInt(text) : Number(text))

/** What Kysely takes for a pool of connections. Each statement finds a connection by itself, so one that is lost hurts none. */
const statementsOf = (pool: pg.Pool, onTrouble: OnTrouble): PostgresPool => ({
  options: {},
  async connect() {
    return {
      query: ((text: string, parameters: readonly unknown[]) => readSurely(pool, text, parameters, onTrouble)) as never,
      release: () => undefined,
    }
  },
  end: () => pool.end(),
})

async function readSurely(pool: pg.Pool, text: string, parameters: readonly unknown[], onTrouble: OnTrouble) {
  const result = await queryAgain(pool, text, [...parameters], onTrouble)
  return { ...result, rows: result.rows.map(narrowRow) }
}

async function queryAgain(pool: pg.Pool, text: string, parameters: unknown[], onTrouble: OnTrouble) {
  const givesUpAt = performance.now() + attemptsForMs
  const trouble = troubleWatch(onTrouble)
  for (let attempt = 1; ; attempt++) {
    try {
      return await pool.query<Record<string, unknown>>(text, parameters)
    } catch (error) {
      const isLast = attempt >= attempts || performance.now() > givesUpAt || pool.ending
      if (isStatementError(error)) throw error
      trouble(error)
      if (isLast) throw unreadable(error)
      await sleep(pauseMs(attempt))
    }
  }
}

const unreadable = (cause: unknown): StoreError =>
  new StoreError('unreachable', 'The database cannot be read; try again later.', { cause })
