import {
  discoveryRequired,
  insufficientBalance,
  keyStakingLimitReached,
  keyUsdLimitReached,
  walletCreditRequired,
} from '#contract/errors/errors.ts'
import type { KeyLimitReached } from '#contract/errors/failures.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { admissionFloorUsd, type PlanName, topUpUsd } from '#contract/limits.ts'
import { displayUsd, type MicroUsd, toUsdNumber } from '#contract/money.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { baseUrl, docsUrl } from '#contract/wire/base-url.ts'
import { paymentRequired } from '#contract/wire/headers.ts'
import { usdcDecimals, x402Version } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { SignInChallengeInfo } from '#contract/wire/payment-required.ts'
import type { OverBudget } from '#ledger/charges/funding.ts'
import type { BodyRoomBytes } from './limits/concurrency.ts'
import type { LimitSettings } from './limits/limit-rules.ts'

/** The challenge that a wallet must sign, with the networks it may sign for. */
export interface SignInChallenge {
  info: SignInChallengeInfo
  supportedChains: { chainId: string; type: 'eip191' | 'eip1271' | 'ed25519' }[]
}

/**
 * Builds the header that the 402 answers of inference routes share (published contract §3). Its `accepts` is empty,
 * because a generic client would otherwise sign money for the inference URL; credit is bought only with a top-up.
 */
function requiredHeader(settings: AccessSettings, operation: Operation, challenge: SignInChallenge, error: string) {
  const extensions = { 'sign-in-with-x': challenge }
  const resource = resourceOf(settings, operation)
  const value = paymentRequired.format({ x402Version, error, resource, accepts: [], extensions })
  return { headers: { [paymentRequired.name]: value }, extensions, resource }
}

const resourceOf = (settings: AccessSettings, operation: Operation) => ({
  url: `${baseUrl(settings)}${operation.path}`,
  description: operation.summary,
  mimeType: 'application/json',
})

/** The 402 for a request without credentials. */
export function discovery(settings: AccessSettings, operation: Operation, challenge: SignInChallenge): ServiceError {
  const error = 'Authentication required'
  const { headers, extensions, resource } = requiredHeader(settings, operation, challenge, error)
  const docs = docsUrl(settings)
  const authOptions = {
    apiKey: { header: 'Authorization: Bearer YOUR_API_KEY', getKey: docs, docs },
    x402Wallet: {
      header: 'SIGN-IN-WITH-X',
      legacyHeader: 'X-Sign-In-With-X',
      topUp: 'POST /api/v1/x402/top-up',
      docs,
    },
  }
  return discoveryRequired({ x402Version, error, resource, accepts: [], extensions, authOptions }, headers)
}

/** The 402 for a key whose account has too little credit. */
export function keyCreditRequired(
  settings: AccessSettings,
  operation: Operation,
  challenge: SignInChallenge,
  credit: { availableMicroUsd: MicroUsd; neededMicroUsd: MicroUsd },
): ServiceError {
  const { headers } = requiredHeader(settings, operation, challenge, 'Insufficient balance')
  return insufficientBalance(headers, ` ${saidOf(credit)}`)
}

const saidOf = ({ availableMicroUsd, neededMicroUsd }: { availableMicroUsd: MicroUsd; neededMicroUsd: MicroUsd }) =>
  `This call needs ${displayUsd(neededMicroUsd)}, and ${displayUsd(availableMicroUsd)} is available.`

/**
 * The 402 for a key that has reached its own limit, regardless of its account; includes what is left of it, if known.
 */
export function keyLimitReached(
  settings: AccessSettings,
  operation: Operation,
  challenge: SignInChallenge,
  { limit, neededMicroUsd }: Pick<OverBudget, 'limit' | 'neededMicroUsd'>,
  budget?: KeyLimitReached['budget'],
): ServiceError {
  const { headers } = requiredHeader(settings, operation, challenge, 'API key spend limit exceeded')
  const needed = neededMicroUsd === null ? undefined : toUsdNumber(neededMicroUsd)
  return limit === 'usd' ? keyUsdLimitReached(headers, budget, needed) : keyStakingLimitReached(headers, budget, needed)
}

/** The 402 for a wallet with too little credit, either to be admitted or for the hold of this call. */
export function walletCredit(
  settings: AccessSettings,
  operation: Operation,
  challenge: SignInChallenge,
  credit: { availableMicroUsd: MicroUsd; neededMicroUsd: MicroUsd },
): ServiceError {
  const { headers } = requiredHeader(settings, operation, challenge, 'Payment required')
  const option = settings.paymentOptions[0]
  return walletCreditRequired(
    {
      error: 'Payment required',
      code: 'PAYMENT_REQUIRED',
      reason: 'insufficient_balance',
      message: `Insufficient x402 balance: this call needs ${displayUsd(credit.neededMicroUsd)}, and ${displayUsd(credit.availableMicroUsd)} is available.${option ? '' : ' This service accepts no payments; ask its operator for an API key with credit.'}`,
      currentBalanceUsd: toUsdNumber(credit.availableMicroUsd),
      minimumBalanceUsd: Math.max(admissionFloorUsd, toUsdNumber(credit.neededMicroUsd)),
      description: 'Service API',
      suggestedTopUpUsd: topUpUsd.suggested,
      minimumTopUpUsd: topUpUsd.minimum,
      supportedTokens: option ? ['USDC'] : [],
      // In the published contract's own form; everywhere else networks are CAIP-2.
      supportedChains: [...new Set(settings.paymentOptions.map(each => chainName(each.network)))],
      topUpInstructions: {
        step1: 'POST /api/v1/x402/top-up with no payment header to get payment requirements',
        step2:
          'Choose a payment option from accepts and sign a USDC transfer authorization using the x402 SDK (createPaymentHeader)',
        step3: 'POST /api/v1/x402/top-up with the signed PAYMENT-SIGNATURE header',
        receiverWallet: option?.payTo ?? '',
        tokenAddress: option?.asset ?? '',
        tokenDecimals: usdcDecimals,
        network: option?.network ?? '',
        minimumAmountUsd: topUpUsd.minimum,
      },
      siwxChallenge: challenge,
    },
    headers,
  )
}

const chainName = (network: string): string => (network.startsWith('solana:') ? 'solana' : 'base')

/** What an operator configures about who may call and how often. */
export interface AccessSettings {
  /** The address that callers use, without a path: `http://127.0.0.1:8402`. Never taken from a request. */
  publicUrl: string
  /** Hosts that a sign-in message may name. */
  signInDomains: readonly string[]
  /** Lets a sign-in header work until it expires, for clients that send it repeatedly. */
  signInWindow: boolean
  plan: PlanName
  /** The operator's changes to the plan's limits, for all accounts or for one. */
  limits?: LimitSettings | undefined
  /** Bytes that bodies may hold at once; `usualBodyRoom` by default. */
  bodyRoom?: BodyRoomBytes
  /** What a top-up offers: one entry per rail, with the minimum amount. */
  paymentOptions: readonly PaymentOption[]
  /** Addresses and networks of proxies that are trusted to name the caller; none by default. */
  trustedProxies?: readonly string[]
}
