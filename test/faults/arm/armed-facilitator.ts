import { openLocalFacilitator as open } from '#service/payments/local-facilitator.ts'
import { around } from './around.ts'

export * from '#service/payments/local-facilitator.ts'

export const openLocalFacilitator: typeof open = async options => {
  const facilitator = await open(options)
  const settle = facilitator.settle.bind(facilitator)
  const verify = facilitator.verify.bind(facilitator)
  facilitator.settle = payment => around('settling', () => settle(payment))
  facilitator.verify = payment => around('verifying', () => verify(payment))
  return facilitator
}
