import { z } from 'zod'
import { StandardError, TopUpError } from './failures.ts'
import { defineOperation } from './operation.ts'
import { TopUpRequired } from './payment.ts'

/** Brief §2.1. */
export const TopUpResult = z
  .strictObject({
    success: z.literal(true),
    data: z.strictObject({
      walletAddress: z.string(),
      amountCredited: z.number(),
      newBalance: z.number(),
      paymentId: z.string(),
    }),
  })
  .meta({ id: 'X402TopUpResult' })
export type TopUpResult = z.output<typeof TopUpResult>

/** Brief §4.1: without a payment header the requirements, with a valid one the credit. */
export const topUp = defineOperation({
  id: 'topUpX402Balance',
  method: 'POST',
  path: '/x402/top-up',
  tag: 'x402',
  summary: 'Get payment requirements, or credit a wallet with a signed USDC payment',
  auth: [],
  charge: 'payment',
  limit: 'top-up',
  request: {
    body: z.looseObject({}),
    bodyOptional: true,
    headers: ['PAYMENT-SIGNATURE', 'X-402-Payment', 'X-PAYMENT'],
  },
  answer: { json: TopUpResult, headers: ['PAYMENT-RESPONSE'] },
  failures: { 400: TopUpError, 402: TopUpRequired, 429: StandardError, 500: TopUpError, 503: TopUpError },
})
