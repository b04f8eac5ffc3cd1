import { type Kysely, sql } from 'kysely'
import { type Clock, systemClock } from '#contract/time.ts'
import { mostClockDifferenceMs } from '../bounds.ts'
import { type Store, StoreError } from '../store.ts'
import type { Tables } from '../tables.ts'
import { UnsuitableDatabase, unusableDatabase } from './connection.ts'
import { type OnTrouble, WriterLink } from './link.ts'
import { migratePostgres } from './migrate.ts'
import { openPostgresReader } from './reader.ts'
import { PostgresWriter } from './writer.ts'

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string
  /** Where the tables are, made where it is missing; `farebox` unless told. */
  schema?: string
  /** Whose leases are judged by it; the machine's unless told. */
  clock?: Clock
  /** Told while statements wait for a database that is away. */
  onTrouble?: OnTrouble
}

/** Several processes may have one database open. Throws `unusable_database` where it cannot be trusted or reached. */
export async function openPostgresStore({
  url,
  schema = 'farebox',
  clock = systemClock,
  onTrouble = () => {},
}: PostgresStoreOptions): Promise<Store> {
  // Checked here, because the driver's own complaint would carry the whole address with its password.
  if (!URL.canParse(url)) throw unusableDatabase('its address is no URL; write postgres://user@host:5432/database')
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) throw unusableDatabase(`${JSON.stringify(schema)} is no schema’s name`)
  const database = { url, schema }
  try {
    await migratePostgres(database)
    const link = await WriterLink.open(database, { onTrouble })
    try {
      await checkClock(link, clock)
      return await storeOf(link, await openPostgresReader(database, onTrouble), clock)
    } catch (error) {
      await link.close()
      throw error
    }
  } catch (error) {
    throw openingFailure(error)
  }
}

/** Each process judges leases by its own clock: one that is far ahead would end what others are working on. */
async function checkClock(link: WriterLink, clock: Clock): Promise<void> {
  const differenceMs = await clockDifference(clock, async () => {
    const { rows } = await link.send<{ now_ms: string }>({ text: databaseTimeText })
    return Number(rows[0]?.now_ms)
  })
  if (differenceMs <= mostClockDifferenceMs) return
  const [seconds, most] = [differenceMs, mostClockDifferenceMs].map(ms => `${Math.round(ms / 100) / 10} s`)
  throw new UnsuitableDatabase(
    `its clock and this machine’s differ by ${seconds}, and ${most} are the most; have both follow a time server`,
  )
}

async function storeOf(link: WriterLink, read: Kysely<Tables>, clock: Clock): Promise<Store> {
  const writer = new PostgresWriter(link)
  // Kysely ends a pool only once it has been used.
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
    close() {
      closed ??= close()
      return closed
    },
  }
}

function openingFailure(error: unknown): unknown {
  if (error instanceof StoreError) return error
  if (error instanceof UnsuitableDatabase) return unusableDatabase(error.message)
  const why = error instanceof Error && error.message ? error.message : String(error)
  return unusableDatabase(`it cannot be opened (${why})`, error)
}

/** Milliseconds since 1970, by the database's own clock. */
export const databaseTimeText = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms'

/** The least by which a clock differs from the database's; `ask` answers what that shows. */
export async function clockDifference(clock: Clock, ask: () => Promise<number>): Promise<number> {
  const beforeMs = clock.now()
  const databaseMs = await ask()
  const afterMs = clock.now()
  // The database looked at some moment in between, so a slow answer is no difference.
  return Math.max(0, beforeMs - databaseMs, databaseMs - afterMs)
}
