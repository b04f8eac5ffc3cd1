import { openLocalFacilitator as open } from '#payments/evm/local-facilitator.ts'
import { around } from './around.ts'
import { answersAreLost } from './fault-orders.ts'

export * from '#payments/evm/local-facilitator.ts'

export const openLocalFacilitator: typeof open = async options => {
  const facilitator = await open(options)
  const settle = facilitator.settle.bind(facilitator)
  const verify = facilitator.verify.bind(facilitator)
  facilitator.settle = async payment => {
    const settlement = await around('settling', () => settle(payment))
    if (answersAreLost()) throw new Error('The harness has lost this answer.')
    return settlement
  }
  facilitator.verify = payment => around('verifying', () => verify(payment))
  return facilitator
}
