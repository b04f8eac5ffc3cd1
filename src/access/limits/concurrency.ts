import { bodiesFull, tooManyUnread } from '#contract/errors/errors.ts'
import { retryAfterHeaders, tooManyInFlight } from '#contract/errors/retry-after.ts'
import { walletConcurrency } from '#contract/limits.ts'
import type { Clock } from '#contract/time.ts'
import { bodiesRetryMs, unreadCalls, unreadRetryMs, usualBodyRoom } from './limit-rules.ts'

/** Counts the requests in flight of each wallet; an idle wallet costs no memory. */
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

  /**
   * Takes a slot until the returned function is called, which should happen after the last byte. Throws 429 if all are
   * taken.
   */
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
 * Calls of this process whose callers have left while their engines continue. Callers cannot be kept from leaving, so
 * an account that has left too many calls can start no new one until some have ended.
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

  /** Over all accounts. */
  get size(): number {
    return this.#all
  }

  /**
   * Throws 429 if this account may not start a call now: it has left too many, or it has left any while the process has
   * as many as it can bear.
   */
  admit(account: string): void {
    const own = this.#ofAccount.get(account) ?? 0
    const { perAccount, perProcess } = this.#bounds
    if (own < perAccount && (own === 0 || this.#all < perProcess)) return
    const nowMs = this.#clock.now()
    throw tooManyUnread(
      {
        error: `${own} calls of this account are still running after their callers disconnected. Wait until some of them end, then try again.`,
        code: 'TOO_MANY_UNREAD_CALLS',
      },
      retryAfterHeaders(nowMs + unreadRetryMs, nowMs, 'user'),
    )
  }

  /** Counts one more until the returned function is called. */
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

/** Bytes that request bodies may hold at once: in total, and per caller. */
export interface BodyRoomBytes {
  allBytes: number
  ofOneBytes: number
}

/** One request's share: its body, and everything that is fetched for it. */
export interface BodyStay {
  /** Throws `bodiesFull`. Bytes that were added before stay counted until `end`. */
  add(bytes: number): void
  /** Frees all bytes; further calls have no effect. */
  end(): void
}

/**
 * Tracks the memory that request bodies, and everything fetched for them, take in this process, from the first byte
 * until the answer has been sent. Bytes count as they arrive, so a caller cannot block others by announcing bytes that
 * it never sends; and each caller has a limited share.
 */
export class BodyRoom {
  readonly #clock: Clock
  readonly #bounds: BodyRoomBytes
  readonly #ofSubjects = new Map<string, number>()
  #all = 0

  constructor(clock: Clock, bounds: BodyRoomBytes = usualBodyRoom) {
    this.#clock = clock
    this.#bounds = bounds
  }

  open(subject: string): BodyStay {
    let mine = 0
    let isOver = false
    return {
      add: bytes => {
        // Bytes that arrive after the request has ended are dropped.
        if (isOver) return
        this.#take(subject, bytes)
        mine += bytes
      },
      end: () => {
        this.#free(subject, mine)
        mine = 0
        isOver = true
      },
    }
  }

  #take(subject: string, bytes: number): void {
    const ofOne = (this.#ofSubjects.get(subject) ?? 0) + bytes
    const { allBytes, ofOneBytes } = this.#bounds
    const isOne = ofOne > ofOneBytes
    if (isOne || this.#all + bytes > allBytes) {
      const nowMs = this.#clock.now()
      throw bodiesFull(retryAfterHeaders(nowMs + bodiesRetryMs, nowMs, isOne ? 'user' : 'global'))
    }
    this.#all += bytes
    this.#ofSubjects.set(subject, ofOne)
  }

  #free(subject: string, bytes: number): void {
    this.#all -= bytes
    const left = (this.#ofSubjects.get(subject) ?? 0) - bytes
    if (left > 0) this.#ofSubjects.set(subject, left)
    else this.#ofSubjects.delete(subject)
  }
}
