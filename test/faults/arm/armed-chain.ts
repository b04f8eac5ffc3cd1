import { openEvmPaymentChain as open } from '#payments/evm/evm-payment-chain.ts'
import { ChainUnavailable } from '#payments/payment/payment.ts'
import { around } from './around.ts'
import { answersAreLost } from './fault-orders.ts'

export * from '#payments/evm/evm-payment-chain.ts'

export const openEvmPaymentChain: typeof open = async options => {
  const chain = await open(options)
  const find = chain.find.bind(chain)
  let looks = 0
  return Object.assign(chain, {
    async find(...asked: Parameters<typeof find>) {
      const seen = await around('asking the chain', () => find(...asked))
      if (answersAreLost() && ++looks % 2) throw new ChainUnavailable('The harness has lost this answer.')
      return seen
    },
  })
}
