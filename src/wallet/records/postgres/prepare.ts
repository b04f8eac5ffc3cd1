import { type Migration, stepsToDo } from '../migrate.ts'
import { type Ask, schema } from './connection.ts'
import { unusableJournal } from './failures.ts'

const area = 'wallet'

/** Any number, as long as nothing else in the database locks it. */
const startLock = 5_118_402_771_903_364

const oldestServer = 140_000

/** Checks the server and brings the tables up to date, whole or not at all; replicas that start together do it in turn. */
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
  return stepsToDo(area, done, steps)
}

async function checkServer(ask: Ask): Promise<void> {
  const { rows } = await ask(`SELECT current_setting('server_version_num') AS version,
    current_setting('fsync') AS fsync, current_setting('server_encoding') AS encoding`)
  const [server] = rows
  if (server?.fsync !== 'on')
    throw unusableJournal('it runs with fsync off and would forget payments in a power cut', 'Switch fsync on.')
  if (server.encoding !== 'UTF8') throw unusableJournal('its encoding is not UTF8', 'Make a database in UTF8.')
  if (Number(server.version) < oldestServer)
    throw unusableJournal('it is older than PostgreSQL 14', 'Take a newer server.')
}
