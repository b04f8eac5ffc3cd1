import type { Store } from '../store.ts'
import { StoreError } from '../store-error.ts'
import { type Database, UnsuitableDatabase, unusableDatabase } from './connection.ts'
import { WriterLink } from './link.ts'
import { migratePostgres } from './migrate.ts'
import { openPostgresReader } from './reader.ts'
import { PostgresWriter } from './writer.ts'

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string
  /** Where the tables are, made where it is missing; `farebox` unless told. */
  schema?: string
}

/** Several processes may have one database open. Throws `unusable_database` where it cannot be trusted or reached. */
export async function openPostgresStore({ url, schema = 'farebox' }: PostgresStoreOptions): Promise<Store> {
  // Checked here, because the driver's own complaint would carry the whole address with its password.
  if (!URL.canParse(url)) throw unusableDatabase('its address is no URL; write postgres://user@host:5432/database')
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) throw unusableDatabase(`${JSON.stringify(schema)} is no schema’s name`)
  const database = { url, schema }
  try {
    await migratePostgres(database)
    return storeOf(await WriterLink.open(database), database)
  } catch (error) {
    throw openingFailure(error)
  }
}

async function storeOf(link: WriterLink, database: Database): Promise<Store> {
  const writer = new PostgresWriter(link)
  const read = await openPostgresReader(database)
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
