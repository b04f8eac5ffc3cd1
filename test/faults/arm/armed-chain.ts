import { openEvmPaymentChain as open } from '#service/payments/evm-payment-chain.ts'
import { around } from './around.ts'

export * from '#service/payments/evm-payment-chain.ts'

export const openEvmPaymentChain: typeof open = async options => {
  const chain = await open(options)
  const find = chain.find.bind(chain)
  return Object.assign(chain, {
    find: (...asked: Parameters<typeof find>) => around('asking the chain', () => find(...asked)),
  })
}
