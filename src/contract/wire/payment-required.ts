import { z } from 'zod'
import { answerListOf } from '../schemas.ts'
import { x402Version } from './networks.ts'
import { PaymentOption } from './payment.ts'

/**
 * The 402 answers of inference routes (brief §5, published contract §3). `accepts` is empty, because no one should sign
 * money for an inference URL.
 */

export const SignInChain = z.strictObject({ chainId: z.string(), type: z.enum(['eip191', 'eip1271', 'ed25519']) })

export const SignInChallengeInfo = z.strictObject({
  domain: z.string(),
  uri: z.string(),
  version: z.string(),
  nonce: z.string(),
  issuedAt: z.string(),
  expirationTime: z.string(),
  statement: z.string(),
})
export type SignInChallengeInfo = z.output<typeof SignInChallengeInfo>

export const Resource = z.strictObject({ url: z.string(), description: z.string(), mimeType: z.string() })

/** No credentials: explains how to get access. */
export const DiscoveryRequired = z
  .strictObject({
    x402Version: z.literal(x402Version),
    error: z.string().optional(),
    resource: Resource,
    accepts: answerListOf(PaymentOption),
    extensions: z.record(z.string(), z.unknown()).optional(),
    authOptions: z.strictObject({
      apiKey: z.strictObject({ header: z.string(), getKey: z.string(), docs: z.string() }),
      x402Wallet: z.strictObject({
        header: z.string(),
        legacyHeader: z.string(),
        topUp: z.string(),
        docs: z.string(),
      }),
    }),
  })
  .meta({ id: 'X402Discovery' })
export type DiscoveryRequired = z.output<typeof DiscoveryRequired>

/** A signed-in wallet with too little credit: explains how to top up. */
export const WalletCreditRequired = z
  .strictObject({
    error: z.literal('Payment required'),
    code: z.literal('PAYMENT_REQUIRED'),
    reason: z.literal('insufficient_balance'),
    message: z.string().optional(),
    currentBalanceUsd: z.number().optional(),
    minimumBalanceUsd: z.number().optional(),
    description: z.string().optional(),
    suggestedTopUpUsd: z.number(),
    minimumTopUpUsd: z.number(),
    supportedTokens: answerListOf(z.string()),
    supportedChains: answerListOf(z.string()),
    topUpInstructions: z.strictObject({
      step1: z.string(),
      step2: z.string(),
      step3: z.string(),
      receiverWallet: z.string(),
      tokenAddress: z.string(),
      tokenDecimals: z.number(),
      network: z.string(),
      minimumAmountUsd: z.number(),
    }),
    siwxChallenge: z.strictObject({
      info: SignInChallengeInfo,
      supportedChains: answerListOf(SignInChain),
      type: z.enum(['eip191', 'eip1271', 'ed25519']).optional(),
    }),
  })
  .meta({ id: 'X402CreditRequired' })
export type WalletCreditRequired = z.output<typeof WalletCreditRequired>

/** Header `PAYMENT-REQUIRED`, decoded; the body of the same answer may differ. */
export const PaymentRequiredHeader = z.object({
  x402Version: z.literal(x402Version),
  error: z.string().optional(),
  resource: z
    .object({ url: z.string(), description: z.string().optional(), mimeType: z.string().optional() })
    .optional(),
  accepts: answerListOf(PaymentOption),
  extensions: z.record(z.string(), z.unknown()).optional(),
})
export type PaymentRequiredHeader = z.output<typeof PaymentRequiredHeader>
