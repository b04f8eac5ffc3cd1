import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely'
import type pg from 'pg'
import { type Clock, systemClock } from '#contract/time.ts'
import {
  connectTimeoutMs,
  keepAliveDelayMs,
  mostClockDifferenceMs,
  namedFromTimes,
  readAnswerTimeoutMs,
  readConnections,
  readsYieldForMs,
  readTimeoutMs,
  sendAttempts,
  sendAttemptsForMs,
  statementsCounted,
} from '../../bounds.ts'
import { type FoldingStore, StoreError } from '../store.ts'
import { narrowRow, type Tables } from '../tables.ts'
import {
  applySettings,
  type Database,
  isOutOfConnections,
  isServerFault,
  isStatementError,
  type OnTrouble,
  pauseMs,
  searchPath,
  sessionText,
  troubleWatch,
  UnsuitableDatabase,
  unusableDatabase,
  WriterLink,
} from './connection.ts'
import { migratePostgres } from './migrate.ts'
import { openingFailure } from './opening-failure.ts'
import { PostgresWriter } from './writer.ts'

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string
  /** The schema of the tables, created if missing; `farebox` by default. */
  schema?: string
  /** Leases are judged by this clock; the machine's by default. */
  clock?: Clock
  /** Called while statements wait for an unreachable database. */
  onTrouble?: OnTrouble
}

/** Several processes may have one database open. Throws `unusable_database` if it cannot be trusted or reached. */
export async function openPostgresStore({
  url,
  schema = 'farebox',
  clock = systemClock,
  onTrouble = () => {},
}: PostgresStoreOptions): Promise<FoldingStore> {
  // Checked here, because the driver's own error would contain the whole address with its password.
  if (!URL.canParse(url)) throw unusableDatabase('its address is not a URL; write postgres://user@host:5432/database')
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw unusableDatabase(`${JSON.stringify(schema)} is not a valid schema name`)
  const database = { url, schema }
  try {
    let yieldConnections = () => {}
    const onLinkTrouble: OnTrouble = (error, forMs) => {
      if (isOutOfConnections(error)) yieldConnections()
      onTrouble(error, forMs)
    }
    const link = await WriterLink.open(database, { onTrouble: onLinkTrouble })
    try {
      await migratePostgres(database, await sessionOf(link))
      await checkClock(link, clock)
      const reads = await openReads(database, onTrouble, usualReads)
      yieldConnections = reads.yieldConnections
      return await storeOf(link, reads.read, clock)
    } catch (error) {
      await link.close()
      throw error
    }
  } catch (error) {
    throw notOpened(error, url)
  }
}

async function sessionOf(link: WriterLink): Promise<number | undefined> {
  const { rows } = await link.send<{ session: number }>({ text: sessionText })
  return rows[0]?.session
}

/**
 * Each process judges leases by its own clock: a process whose clock is far ahead would end work that others still do.
 */
async function checkClock(link: WriterLink, clock: Clock): Promise<void> {
  const differenceMs = await clockDifference(clock, async () => {
    const { rows } = await link.send<{ now_ms: string }>({ text: databaseTimeText })
    return Number(rows[0]?.now_ms)
  })
  if (differenceMs <= mostClockDifferenceMs) return
  const [seconds, most] = [differenceMs, mostClockDifferenceMs].map(ms => `${Math.round(ms / 100) / 10} s`)
  throw new UnsuitableDatabase(
    `its clock and this machine’s differ by ${seconds}, more than the allowed ${most}; synchronize both with a time server`,
  )
}

async function storeOf(link: WriterLink, read: Kysely<Tables>, clock: Clock): Promise<FoldingStore> {
  const writer = new PostgresWriter(link)
  // Kysely closes a pool only if it has been used.
  await read.connection().execute(async () => undefined)
  let closed: Promise<void> | null = null
  const close = async () => {
    await writer.close()
    await read.destroy()
  }
  return {
    read,
    soleOwner: false,
    clockDifferenceMs: () =>
      clockDifference(clock, async () => {
        const { rows } = await sql.raw<{ now_ms: number }>(databaseTimeText).execute(read)
        return Number(rows[0]?.now_ms)
      }),
    commit: units => writer.commit(units),
    prune: (slice, rows) => writer.prune(slice, rows),
    foldEntries: fold => writer.foldEntries(fold),
    close() {
      closed ??= close()
      return closed
    },
  }
}

function notOpened(error: unknown, url: string): unknown {
  if (error instanceof StoreError) return error
  if (error instanceof UnsuitableDatabase) return unusableDatabase(error.message)
  const failure = openingFailure(error, url)
  if (failure) {
    const { fact, nextStep } = failure
    return new StoreError('unusable_database', `${fact} ${nextStep}`, { cause: error, failure })
  }
  const why = error instanceof Error && error.message ? error.message : String(error)
  return unusableDatabase(`it cannot be opened (${why})`, error)
}

/** Milliseconds since 1970, by the database's own clock. */
export const databaseTimeText = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms'

/** Returns the least by which a clock differs from the database's; `ask` returns the database's time. */
export async function clockDifference(clock: Clock, ask: () => Promise<number>): Promise<number> {
  const beforeMs = clock.now()
  const databaseMs = await ask()
  const afterMs = clock.now()
  // The database read its clock somewhere in between, so a slow answer is no difference.
  return Math.max(0, beforeMs - databaseMs, databaseMs - afterMs)
}

/** PostgreSQL's type codes for integers, and for types that may be integers. */
const integerTypes = new Set([20, 21, 23])
const numericType = 1700

/**
 * Reads the tables, and only reads. A lost connection is replaced and the same read repeated. `destroy()` closes it.
 */
export async function openPostgresReader(
  database: Database,
  onTrouble: OnTrouble = () => {},
  options: ReadingOptions = usualReads,
): Promise<Kysely<Tables>> {
  return (await openReads(database, onTrouble, options)).read
}

async function openReads(database: Database, onTrouble: OnTrouble, options: ReadingOptions) {
  const pool = await readingPool(database, options)
  const dialect = new PostgresDialect({ pool: statementsOf(pool, { onTrouble, most: options.attempts }) })
  return { read: new Kysely<Tables>({ dialect }), yieldConnections: yielding(pool, options.connections) }
}

/**
 * Returns a function that gives all connections but one back for a while: after a restart of a server with too few,
 * reads could take all of them, and nothing could be written.
 */
function yielding(pool: pg.Pool, connections: number): () => void {
  let timer: NodeJS.Timeout | undefined
  pool.on('remove', () => {
    if (pool.totalCount <= 1) pool.options.maxUses = Number.POSITIVE_INFINITY
  })
  return () => {
    pool.options.max = 1
    // A connection is closed instead of returned.
    if (pool.totalCount > 1) pool.options.maxUses = 1
    clearTimeout(timer)
    timer = setTimeout(() => {
      pool.options.max = connections
    }, readsYieldForMs).unref()
  }
}

/**
 * The name, the number and the longest statement of its connections, and how often a statement is sent again after its
 * connection was lost.
 */
export interface ReadingOptions {
  name: string
  connections: number
  statementMs: number
  attempts: number
}

const usualReads: ReadingOptions = {
  ...{ name: 'farebox reads', connections: readConnections, statementMs: readTimeoutMs, attempts: sendAttempts },
}

async function readingPool(
  { url, schema }: Database,
  { name, connections, statementMs }: ReadingOptions,
): Promise<pg.Pool> {
  const { default: driver } = await import('pg')
  const pool = new driver.Pool({
    connectionString: url,
    application_name: name,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementMs + (readAnswerTimeoutMs - readTimeoutMs),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    allowExitOnIdle: true,
    types: exactTypes(driver.types),
    onConnect: async client => {
      await applySettings(client, {
        default_transaction_read_only: 'on',
        search_path: searchPath(schema),
        statement_timeout: `${statementMs}`,
        jit: 'off',
        // A large sum of an operator takes one core of the database at most; callers have the others.
        max_parallel_workers_per_gather: '0',
      })
    },
  })
  // By then, the pool has removed an idle connection that broke.
  pool.on('error', () => undefined)
  return pool
}

/** Integers arrive as bigints, and are narrowed by the names of their columns. */
export const exactTypes = (types: typeof pg.types): pg.CustomTypesConfig => ({
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (integerTypes.has(oid)) return BigInt
    if (oid === numericType) return exactNumeric
    return types.getTypeParser(oid, format as 'text')
  }) as typeof pg.types.getTypeParser,
})

/** A sum is exact; an average is not an integer. */
const exactNumeric = (text: string): bigint | number => (/^-?\d+$/.test(text) ? BigInt(text) : Number(text))

/** What Kysely uses as a connection pool. Each statement picks its own connection, so losing one affects no other. */
function statementsOf(pool: pg.Pool, sending: Sending): PostgresPool {
  const nameOf = statementNames()
  const query = async (text: string, parameters: readonly unknown[]) => {
    const name = nameOf(text)
    const statement = { ...(name ? { name } : {}), text, values: [...parameters] }
    const result = await queryAgain(pool, statement, sending)
    return { ...result, rows: result.rows.map(narrowRow) }
  }
  return {
    options: {},
    connect: async () => ({ query: query as never, release: () => undefined }),
    end: () => pool.end(),
  }
}

/**
 * Names the statements that come with every request, so that each connection keeps their plans: planning costs more
 * than reading a row. Rare ones get no name, so that connections keep no unused plans.
 */
function statementNames(): (text: string) => string | undefined {
  const seen = new Map<string, { times: number; name: string }>()
  return text => {
    const known = seen.get(text)
    if (known) return known.times++ < namedFromTimes ? undefined : known.name
    if (seen.size < statementsCounted) seen.set(text, { times: 1, name: `read ${seen.size + 1}` })
    return undefined
  }
}

/** A newer release has added a column to the table since the statement was prepared. */
const planIsOutdated = '0A000'

interface Sending {
  onTrouble: OnTrouble
  most: number
}

async function queryAgain(pool: pg.Pool, statement: pg.QueryConfig, sending: Sending) {
  const givesUpAt = performance.now() + sendAttemptsForMs
  const trouble = troubleWatch(sending.onTrouble)
  for (let attempt = 1; ; attempt++) {
    try {
      return await pool.query<Record<string, unknown>>(statement)
    } catch (error) {
      const isLast = attempt >= sending.most || performance.now() > givesUpAt || pool.ending
      if (isStatementError(error) && statement.name && error.code === planIsOutdated) {
        const { name: _, ...unnamed } = statement
        return await queryAgain(pool, unnamed, sending)
      }
      if (isStatementError(error)) throw isServerFault(error) ? unreadable(error) : error
      trouble(error)
      if (isLast) throw unreadable(error)
      await sleep(pauseMs(attempt))
    }
  }
}

const unreadable = (cause: unknown): StoreError =>
  new StoreError('unreachable', 'The database cannot be read; try again later.', { cause })
