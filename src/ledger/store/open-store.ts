import type { ReadingOptions } from './postgres/open.ts'
import { type FoldingStore, type Store, StoreError } from './store.ts'

export type DatabasePlace = { engine: 'sqlite'; path: string } | { engine: 'postgres'; url: string }

/** A scheme has two letters or more; a single letter is a drive. */
const scheme = /^([a-z][a-z0-9+.-]+):/i

/**
 * Parses `sqlite:PATH`, a plain path, or `postgres://…`. The error does not repeat the input, which may contain a
 * password.
 */
export function databasePlace(database: string): DatabasePlace {
  const name = scheme.exec(database)?.[1]?.toLowerCase()
  const rest = name === undefined ? database : database.slice(name.length + 1)
  if ((name === 'postgres' || name === 'postgresql') && URL.canParse(database))
    return { engine: 'postgres', url: database }
  if ((name === undefined || name === 'sqlite') && rest.trim() !== '') return { engine: 'sqlite', path: rest }
  throw new StoreError(
    'unusable_database',
    'The address of the database is invalid: write sqlite:PATH, a path, or postgres://user@host:5432/name, with special characters of the password percent-encoded (`#` as %23).',
  )
}

/** What a store reports while it keeps retrying. */
export interface StoreTrouble {
  /** The database has not answered for this long; called again with each failed attempt. */
  onTrouble?: (error: unknown, forMs: number) => void
}

/** Opens the store of a database by its name. Only the engine that is used is loaded. */
export async function openStore(database: string, trouble: StoreTrouble = {}): Promise<FoldingStore> {
  const place = databasePlace(database)
  if (place.engine === 'postgres') {
    const { openPostgresStore } = await import('./postgres/open.ts')
    return openPostgresStore({ url: place.url, ...trouble })
  }
  const { openSqliteStore } = await import('./sqlite/open.ts')
  return openSqliteStore({ path: place.path })
}

/** Opens a database only for reading, as a thread beside the service does. `pool` and `schema` are for PostgreSQL. */
export async function openReader(place: DatabasePlace, schema: string, pool: ReadingOptions): Promise<Store['read']> {
  if (place.engine === 'sqlite') {
    const { openSqliteReader } = await import('./sqlite/open.ts')
    return openSqliteReader(place.path)
  }
  const { openPostgresReader } = await import('./postgres/open.ts')
  return openPostgresReader({ url: place.url, schema }, () => {}, pool)
}
