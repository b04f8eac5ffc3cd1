import { Kysely, PostgresDialect, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type pg from 'pg'
import {
  connectForWriting,
  type Database,
  isServerFault,
  isTransient,
  sessionsShared,
  sessionText,
  unusableDatabase,
} from './connection.ts'
import { accountFunctions, recordFunctions } from './functions/accounts.ts'
import { batchFunctions } from './functions/commit-batch.ts'
import { entryFunctions, foldChecksRefunds, foldFunctions } from './functions/entries.ts'
import { holdFunctions } from './functions/holds.ts'
import { operationFunctions, resultTypes } from './functions/operations.ts'
import { plainUnitFunctions } from './functions/plain-units.ts'
import { workFunctions } from './functions/work.ts'
import { moneyTables, workTables } from './schema/tables.ts'

/** Any number that nothing else in the database locks. */
const startLock = 7_402_184_360_125_511

/**
 * Brings the tables up to date, completely or not at all; processes that start together do so one after another.
 * `writer` is the server process of this store's other open connection.
 */
export async function migratePostgres(
  database: Database,
  writer: number | undefined,
  steps = migrations,
): Promise<void> {
  const client = await connectForWriting(database)
  try {
    const { rows } = await client.query<{ session: number }>(sessionText)
    if (rows[0]?.session === writer) throw sessionsShared()
    if (await isUpToDate(client, database.schema, steps)) return
    // Waiting for another process's migration may take longer than any statement of the service.
    await client.query('SET statement_timeout = 0')
    await client.query('SELECT pg_advisory_lock($1)', [startLock])
    await migrate(client, database.schema, steps)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Most starts find nothing to do, so they neither wait for other processes nor scan the catalogue. */
async function isUpToDate(client: pg.Client, schema: string, steps: Record<string, Migration>): Promise<boolean> {
  const table = `${schema}.kysely_migration`
  const { rows } = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [table])
  if (!rows[0]?.there) return false
  const { rows: applied } = await client.query<{ name: string }>(`SELECT name FROM ${table} ORDER BY name`)
  return applied.map(({ name }) => name).join() === Object.keys(steps).join()
}

async function migrate(client: pg.Client, schema: string, steps: Record<string, Migration>): Promise<void> {
  const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: poolOf(client) }) })
  const provider = { getMigrations: async () => steps }
  const migrator = new Migrator({ db: kysely, provider, migrationTableSchema: schema })
  const { error, results } = await migrator.migrateToLatest()
  if (!error) return
  const failed = results?.find(result => result.status === 'Error')?.migrationName
  // A full disk or a read-only database says nothing about the tables, and its own message names the reason.
  if (
    isServerFault(error) ||
    isTransient(error) ||
    (!failed && codeOf(error) && codeOf(error) !== insufficientPrivilege)
  )
    throw error
  throw unusableDatabase(whyNot(error, schema, failed), error)
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** PostgreSQL's code for a missing privilege; its message may be in any language. */
const insufficientPrivilege = '42501'

function whyNot(error: unknown, schema: string, failed: string | undefined): string {
  if (codeOf(error) === insufficientPrivilege) {
    return `its role may not create or change the schema ${schema}; grant it CREATE on the database, or let its owner start the service once`
  }
  return failed
    ? `migration ${failed} failed and was rolled back; update farebox, or restore a backup`
    : 'it was written by another release of farebox; use that release, or restore a backup of this one'
}

const poolOf = (client: pg.Client) => ({
  options: {},
  connect: async () => ({
    query: ((text: string, parameters: unknown[]) => client.query(text, parameters)) as never,
    release: () => undefined,
  }),
  end: async () => undefined,
})

/** Tables come before the types that contain their rows, and types before the functions that return them. */
const firstRelease = [
  ...[...moneyTables, ...workTables, ...resultTypes],
  ...[...accountFunctions, ...holdFunctions, ...entryFunctions, ...workFunctions, ...recordFunctions],
  ...[...operationFunctions, ...plainUnitFunctions, ...batchFunctions, ...foldFunctions],
]

const migrationOf = (statements: readonly string[]): Migration => ({
  async up(database: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(database)
  },
})

/**
 * Applied in the order of their names. A database never applies one twice, so a released migration never changes: the
 * next release adds another, which makes its changes to the tables and functions of the first. Processes of two
 * releases share a database while one replaces the other, so functions keep accepting what the previous release sends.
 */
export const migrations: Record<string, Migration> = {
  '0001-first-release': migrationOf(firstRelease),
  '0002-fold-checks-refunds': migrationOf(foldChecksRefunds),
}
