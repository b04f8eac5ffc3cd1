import { tooManyUnread } from '#contract/errors/errors.ts'
import { retryAfterHeaders, tooManyInFlight } from '#contract/errors/retry-after.ts'
import { walletConcurrency } from '#contract/limits.ts'
import type { Clock } from '#contract/time.ts'
import { unreadCalls, unreadRetryMs } from './bounds.ts'

/** How many requests of each wallet are in flight; a wallet without any costs no memory. */
export class WalletSlots {
  readonly #clock: Clock
  readonly #taken = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Wallets with a request in flight. */
  get size(): number {
    return this.#taken.size
  }

  /** Takes a slot until the answer it returns is called, which belongs after the last byte. Throws 429 when all are taken. */
  enter(wallet: string): () => void {
    const taken = this.#taken.get(wallet) ?? 0
    if (taken >= walletConcurrency) throw tooManyInFlight(this.#clock.now())
    this.#taken.set(wallet, taken + 1)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#leave(wallet)
    }
  }

  #leave(wallet: string): void {
    const taken = (this.#taken.get(wallet) ?? 0) - 1
    if (taken > 0) this.#taken.set(wallet, taken)
    else this.#taken.delete(wallet)
  }
}

/**
 * Calls of this process whose callers have left and whose engines go on. No caller can be kept from leaving, so an
 * account that has left too many calls may begin no new one until some of them have ended.
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
