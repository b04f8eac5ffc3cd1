import { z } from 'zod'
import { callerFailures, StandardError, TopUpError } from '../errors/failures.ts'
import { paging } from '../limits.ts'
import { answerListOf } from '../schemas.ts'
import { TopUpRequired, WalletAddress } from '../wire/payment.ts'
import { defineOperation } from './operation.ts'

/** Credit and transactions of the signed-in wallet (brief §4.3; published contract §1). */

const params = z.object({ walletAddress: WalletAddress })

const failures = { ...callerFailures, 403: StandardError }

export const WalletBalance = z
  .strictObject({
    success: z.literal(true),
    data: z.strictObject({
      walletAddress: z.string(),
      balanceUsd: z.number(),
      canConsume: z.boolean(),
      minimumTopUpUsd: z.number(),
      suggestedTopUpUsd: z.number(),
      diemBalanceUsd: z.number().optional(),
    }),
  })
  .meta({ id: 'X402Balance' })

export const getWalletBalance = defineOperation({
  id: 'getX402Balance',
  method: 'GET',
  path: '/x402/balance/{walletAddress}',
  tag: 'x402',
  summary: 'Credit of the signed-in wallet',
  auth: ['wallet'],
  charge: 'free',
  limit: 'wallet.balance',
  request: { params },
  answer: { json: WalletBalance },
  failures,
})

export const WalletTransaction = z.strictObject({
  id: z.string(),
  /** Signed USD: charges are negative. */
  amount: z.number(),
  balanceAfter: z.number(),
  type: z.enum(['TOP_UP', 'CHARGE', 'REFUND']),
  createdAt: z.string(),
  requestId: z.string().nullable(),
  modelId: z.string().nullable(),
})

export const WalletTransactions = z
  .strictObject({
    success: z.literal(true),
    data: z.strictObject({
      walletAddress: z.string(),
      currentBalance: z.number(),
      transactions: answerListOf(WalletTransaction),
      pagination: z.strictObject({ limit: z.number(), offset: z.number(), hasMore: z.boolean() }),
    }),
  })
  .meta({ id: 'X402Transactions' })

export const getWalletTransactions = defineOperation({
  id: 'getX402Transactions',
  method: 'GET',
  path: '/x402/transactions/{walletAddress}',
  tag: 'x402',
  summary: 'Top-ups, charges and refunds of the signed-in wallet, newest first',
  auth: ['wallet'],
  charge: 'free',
  limit: 'wallet.transactions',
  request: {
    params,
    query: z.object({
      limit: z.coerce.number().int().min(1).max(paging.transactions.maximum).default(paging.transactions.default),
      offset: z.coerce.number().int().min(0).default(0),
    }),
  },
  answer: { json: WalletTransactions },
  failures,
})

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

/** Brief §4.1: without a payment header, returns the payment requirements; with a valid one, credits the wallet. */
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
  failures: {
    400: TopUpError,
    402: TopUpRequired,
    403: TopUpError,
    429: StandardError,
    500: TopUpError,
    503: TopUpError,
  },
})
