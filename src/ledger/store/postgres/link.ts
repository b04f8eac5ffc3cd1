import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { attempts, attemptsForMs, firstRetryMs, longestRetryMs, troubleAfterMs } from './bounds.ts'
import { connectForWriting, type Database, UnsuitableDatabase } from './connection.ts'
import { isNoPrimary, isStatementError } from './sql-state.ts'

/** The database stayed away for all attempts. `sent` tells whether a statement may have reached it. */
export class DatabaseAway extends Error {
  readonly sent: boolean

  constructor(sent: boolean, cause: unknown) {
    super('The database did not answer.', { cause })
    this.sent = sent
  }
}

/**
 * The one connection that writes. Where it is lost the same statement is sent again over a new one: whoever uses it sends
 * only what may be repeated.
 */
export class WriterLink {
  readonly #database: Database
  readonly #attempts: number
  readonly #onTrouble: OnTrouble
  #client: pg.Client | null

  private constructor(database: Database, client: pg.Client, { most = attempts, onTrouble = () => {} }: LinkOptions) {
    this.#database = database
    this.#attempts = most
    this.#onTrouble = onTrouble
    this.#client = client
  }

  static open = async (database: Database, options: LinkOptions = {}): Promise<WriterLink> =>
    new WriterLink(database, await connectForWriting(database), options)

  /** Throws what the database refused as it is, and `DatabaseAway` where it could not be reached. */
  async send<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    let sent = false
    const givesUpAt = performance.now() + attemptsForMs
    const trouble = troubleWatch(this.#onTrouble)
    for (let attempt = 1; ; attempt++) {
      try {
        this.#client ??= await connectForWriting(this.#database)
        sent = true
        return await this.#client.query<Row>(query)
      } catch (error) {
        if (isStatementError(error) && !isNoPrimary(error) && (await this.#answers())) throw error
        await this.#drop()
        trouble(error)
        const isLast = attempt >= this.#attempts || performance.now() > givesUpAt
        if (isLast || error instanceof UnsuitableDatabase) throw new DatabaseAway(sent, error)
        await sleep(pauseMs(attempt))
      }
    }
  }

  async close(): Promise<void> {
    await this.#drop()
  }

  /** A panic has the code of a plain error (a full disk, for one), but it ends the connection, and its outcome is unknown. */
  async #answers(): Promise<boolean> {
    if (!this.#client) return false
    return this.#client.query('SELECT 1').then(
      () => true,
      () => false,
    )
  }

  async #drop(): Promise<void> {
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => undefined)
  }
}

export type OnTrouble = (error: unknown, forMs: number) => void

interface LinkOptions {
  most?: number
  onTrouble?: OnTrouble
}

/** Told of each attempt that fails; tells of them once they have failed for a while. */
export function troubleWatch(onTrouble: OnTrouble): (error: unknown) => void {
  let sinceMs: number | null = null
  return error => {
    sinceMs ??= performance.now()
    const forMs = performance.now() - sinceMs
    if (forMs >= troubleAfterMs) onTrouble(error, forMs)
  }
}

/** The first retry comes at once: most often a single connection was cut, and the database is there. */
export const pauseMs = (attempt: number): number =>
  attempt === 1 ? 0 : Math.min(firstRetryMs * 2 ** (attempt - 2), longestRetryMs)
