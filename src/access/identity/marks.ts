import type { Clock } from '#contract/time.ts'
import { commitSurely, type Store } from '#ledger/store/store.ts'
import type { UseNonce } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

/** A row that is written once and expires. Its key contains hashes, never a secret. */
export type Mark = Omit<UseNonce, 'op'>

export interface FoundMark {
  /** The part of the key after the requested prefix. */
  rest: string
  untilMs: number
}

/** Such rows in the ledger's store, which every process of a service shares. */
export class Marks {
  readonly #store: Store
  readonly #clock: Clock

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /**
   * Returns the rows whose keys have this prefix, which ends with a colon. Expired ones are included only on request.
   */
  async begin(start: string, { expiredToo = false } = {}): Promise<FoundMark[]> {
    const rows = await this.#store.read
      .selectFrom('nonce')
      .select(['id', 'expires_at_ms'])
      .where('id', '>=', start)
      // Every prefix ends with a colon; `;` is the next character.
      .where('id', '<', `${start.slice(0, -1)};`)
      .where('expires_at_ms', '>', expiredToo ? -1 : this.#clock.now())
      .execute()
    return rows.map(row => ({ rest: row.id.slice(start.length), untilMs: row.expires_at_ms }))
  }

  /** Writes all or none; false if one of them existed. */
  async write(...marks: readonly Mark[]): Promise<boolean> {
    const ops = marks.map(mark => ({ op: 'nonce' as const, ...mark }))
    const outcome = await commitSurely(this.#store, { id: `${uuidV7(this.#clock.now())}/marks`, ops })
    return outcome.ok
  }
}
