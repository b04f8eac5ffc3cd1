import { tooManyInFlight } from '#contract/errors/retry-after.ts'
import { walletConcurrency } from '#contract/limits.ts'
import type { Clock } from '#contract/time.ts'

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
