import { booksMadeAtMs } from '#ledger/store/books-made-at.ts'
import type { Store } from '#ledger/store/store.ts'
import { birthMarginMs } from '../bounds.ts'
import type { OnChain, PaymentChain } from '../payment/payment-chain.ts'
import type { SignedPayment } from '../payment/signed-payment.ts'

/**
 * A chain as these books see it: a transfer that came before they were made was credited in others, or could be. Books
 * that share a payee from then on cannot know of each other, so a payee belongs to one set of books.
 */
export class ChainOfBooks implements PaymentChain {
  readonly #chain: PaymentChain
  readonly #store: Pick<Store, 'read'>
  #madeAtMs: number | null = null

  constructor(chain: PaymentChain, store: Pick<Store, 'read'>) {
    this.#chain = chain
    this.#store = store
  }

  async find(payment: SignedPayment, transaction: string | null): Promise<OnChain> {
    const seen = await this.#chain.find(payment, transaction)
    // Where the chain has forgotten the time, money that came is credited.
    if (seen.state !== 'landed' || seen.atSeconds === undefined) return seen
    this.#madeAtMs ??= await booksMadeAtMs(this.#store)
    const isOlder = seen.atSeconds * 1000 < this.#madeAtMs - birthMarginMs
    return isOlder ? { state: 'void', reason: 'paid_before' } : seen
  }

  async dated(payment: SignedPayment): Promise<SignedPayment> {
    return (await this.#chain.dated?.(payment)) ?? payment
  }
}
