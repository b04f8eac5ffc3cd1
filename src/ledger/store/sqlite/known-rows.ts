import type { DatabaseSync } from 'node:sqlite'
import { knownRowsMost } from '../bounds.ts'
import type { Balance } from '../outcome.ts'
import type { ApiKey } from './apply-funds.ts'
import type { OpenHold } from './apply-holds.ts'
import { prepareExact } from './work.ts'

/**
 * Rows as this connection last read or wrote them, so that a unit need not ask for what the one before it wrote. They
 * are true within a transaction that no other connection wrote before, and as long as nothing of it is undone.
 */
export interface KnownRows {
  accounts: Known<Balance>
  holds: Known<OpenHold>
  keys: Known<ApiKey>
  /** Called when a transaction has begun: from then on nobody else writes, but somebody may have before. */
  check(): void
  /** Called when anything that was written is undone. */
  forget(): void
}

export function knownRows(database: DatabaseSync): KnownRows {
  // Changes with every commit of another connection, and with none of this one.
  const dataVersion = prepareExact(database, 'PRAGMA data_version')
  const [accounts, holds, keys] = [new Known<Balance>(), new Known<OpenHold>(), new Known<ApiKey>()]
  const forget = () => {
    for (const rows of [accounts, holds, keys]) rows.clear()
  }
  let seen: unknown = null
  return {
    ...{ accounts, holds, keys, forget },
    check() {
      const { data_version: version } = dataVersion.get() ?? {}
      if (version !== seen) forget()
      seen = version
    },
  }
}

/** Rows by their ids. Only rows that exist are known; of an id that is not here nothing is known. */
export class Known<Row> {
  readonly #rows = new Map<string, Row>()

  get(id: string): Row | undefined {
    return this.#rows.get(id)
  }

  set(id: string, row: Row): void {
    // Forgetting all is as good as choosing: they come back as they are used.
    if (this.#rows.size >= knownRowsMost && !this.#rows.has(id)) this.#rows.clear()
    this.#rows.set(id, row)
  }

  delete(id: string): void {
    this.#rows.delete(id)
  }

  clear(): void {
    this.#rows.clear()
  }
}
