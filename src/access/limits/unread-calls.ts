import { tooManyUnread } from '#contract/errors/errors.ts'
import { retryAfterHeaders } from '#contract/errors/retry-after.ts'
import type { Clock } from '#contract/time.ts'
import { unreadCalls, unreadRetryMs } from './bounds.ts'

/**
 * Calls of this process whose callers have left and whose engines go on. Nobody can be kept from leaving, so an account
 * that has left too many calls begins no new one until some of them have ended.
 */
export class UnreadCalls {
  readonly #clock: Clock
  readonly #bounds: typeof unreadCalls
  readonly #ofAccount = new Map<string, number>()
  #all = 0

  constructor(clock: Clock, bounds = unreadCalls) {
    this.#clock = clock
    this.#bounds = bounds
  }

  /** Of all accounts. */
  get size(): number {
    return this.#all
  }

  /** Throws 429 where this account may begin no call now: it has left too many, or any while the process is full of them. */
  admit(account: string): void {
    const own = this.#ofAccount.get(account) ?? 0
    const { perAccount, perProcess } = this.#bounds
    if (own < perAccount && (own === 0 || this.#all < perProcess)) return
    const nowMs = this.#clock.now()
    throw tooManyUnread(
      {
        error: `${own} calls of this account go on unread, because their callers left before the answer. Wait for calls to end, or for those to finish, then try again.`,
        code: 'TOO_MANY_UNREAD_CALLS',
      },
      retryAfterHeaders(nowMs + unreadRetryMs, nowMs, 'user'),
    )
  }

  /** One more, until the result is called. */
  enter(account: string): () => void {
    this.#ofAccount.set(account, (this.#ofAccount.get(account) ?? 0) + 1)
    this.#all++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#all--
      const own = (this.#ofAccount.get(account) ?? 0) - 1
      if (own > 0) this.#ofAccount.set(account, own)
      else this.#ofAccount.delete(account)
    }
  }
}
