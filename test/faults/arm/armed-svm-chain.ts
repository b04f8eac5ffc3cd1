import { ChainUnavailable } from '#payments/payment/payment.ts'
import { SvmPaymentChain as Real } from '#payments/solana/svm-payment-chain.ts'
import { around } from './around.ts'
import { answersAreLost } from './fault-orders.ts'

export * from '#payments/solana/svm-payment-chain.ts'

export class SvmPaymentChain extends Real {
  #looks = 0

  override async find(...asked: Parameters<Real['find']>) {
    const seen = await around('asking the chain', () => super.find(...asked))
    if (answersAreLost() && ++this.#looks % 2) throw new ChainUnavailable('The harness has lost this answer.')
    return seen
  }
}
