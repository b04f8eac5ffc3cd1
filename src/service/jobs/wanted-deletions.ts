import type { Clock } from '#contract/time.ts'
import { commitSurely } from '#ledger/store/commit-surely.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { mediaRetentionMs } from './bounds.ts'

/**
 * Jobs whose owner wants the file gone once its download address has delivered it (`delete_media_on_completion`). As long
 * as the file would be kept anyway, among the keys that are used once: every process hears of it, and it ends by itself.
 */
export class WantedDeletions {
  readonly #store: Store
  readonly #clock: Clock

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  async add(jobId: string): Promise<void> {
    if (await this.has(jobId)) return
    const atMs = this.#clock.now()
    // Refused where another retrieve was faster, and then it is there all the same.
    await commitSurely(this.#store, {
      id: `${uuidV7(atMs)}/delivered`,
      ops: [{ op: 'nonce', key: keyOf(jobId), expiresAtMs: atMs + mediaRetentionMs }],
    })
  }

  async has(jobId: string): Promise<boolean> {
    const row = await this.#store.read
      .selectFrom('nonce')
      .select('id')
      .where('id', '=', keyOf(jobId))
      .executeTakeFirst()
    return row !== undefined
  }
}

const keyOf = (jobId: string): string => `delete-delivered:${jobId}`
