import type { z } from 'zod'
import {
  ContentViolation,
  DetailedError,
  NeedsConsent,
  OpenAiError,
  PayloadTooLarge,
  ProviderContentPolicy,
  StandardError,
  TopUpError,
} from '#contract/errors/failures.ts'
import { ChatCompletion, ChatCompletionChunk } from '#contract/operations/chat.ts'
import { ModelList } from '#contract/operations/models.ts'
import { RateLimitLog, RateLimits } from '#contract/operations/rate-limits.ts'
import { VideoQueued, VideoQuote, VideoStatus } from '#contract/operations/video.ts'
import { TopUpResult, WalletBalance, WalletTransactions } from '#contract/operations/wallet.ts'
import { SettlementResponse, TopUpRequired } from '#contract/wire/payment.ts'
import { DiscoveryRequired, PaymentRequiredHeader, WalletCreditRequired } from '#contract/wire/payment-required.ts'
import { publishedModels } from './published-models.ts'

/** Answers as services of this contract give them: what a client of ours has to read. */

const address = '0x71c7656ec7ab88b098defb751b7401b5f6d8976f'

const rails = [
  {
    scheme: 'exact',
    network: 'eip155:8453',
    amount: '5000000',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    payTo: '0x1111111111111111111111111111111111111111',
    maxTimeoutSeconds: 300,
    extra: { name: 'USD Coin', version: '2' },
  },
  {
    scheme: 'exact',
    network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    amount: '5000000',
    asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    payTo: 'BSmWDgE9ex6dZYbiTsJGcwMEgFp8q4aWh92hdErQPeVW',
    maxTimeoutSeconds: 300,
    extra: { name: 'USD Coin', version: '2', feePayer: 'BSmWDgE9ex6dZYbiTsJGcwMEgFp8q4aWh92hdErQPeVW' },
  },
]

const challenge = {
  domain: 'api.service.example',
  uri: 'https://api.service.example/api/v1/chat/completions',
  version: '1',
  nonce: 'a1b2c3d4e5f60718',
  issuedAt: '2026-06-30T12:00:00.000Z',
  expirationTime: '2026-06-30T12:05:00.000Z',
  statement: 'Sign in to the API',
}

const signInChains = [
  { chainId: 'eip155:8453', type: 'eip191' },
  { chainId: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', type: 'ed25519' },
]

const resource = {
  url: 'https://api.service.example/api/v1/chat/completions',
  description: 'Service API',
  mimeType: 'application/json',
}

const discovery = {
  x402Version: 2,
  error: 'Payment required',
  resource,
  accepts: rails,
  extensions: { 'sign-in-with-x': { info: challenge, supportedChains: signInChains } },
}

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_699_000_000,
  model: 'm',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      logprobs: null,
      stop_reason: null,
      message: { role: 'assistant', content: 'Hello', reasoning_content: null, tool_calls: [] },
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, prompt_tokens_details: null },
  prompt_logprobs: null,
}

const chunk = (change: object) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_699_000_000,
  model: 'm',
  choices: [],
  ...change,
})

/** What it is, by which schema it is read, and the answer itself. */
export const publishedAnswers: readonly [what: string, schema: z.ZodType, answer: unknown][] = [
  [
    'credit of a wallet',
    WalletBalance,
    {
      success: true,
      data: {
        walletAddress: address,
        balanceUsd: 12.5,
        canConsume: true,
        minimumTopUpUsd: 5,
        suggestedTopUpUsd: 10,
        diemBalanceUsd: 5.25,
      },
    },
  ],
  [
    'movements of a wallet',
    WalletTransactions,
    {
      success: true,
      data: {
        walletAddress: address,
        currentBalance: 4.9,
        transactions: [
          {
            id: 't2',
            amount: -0.1,
            balanceAfter: 4.9,
            type: 'CHARGE',
            createdAt: '2026-06-30T12:00:00.000Z',
            requestId: 'r',
            modelId: 'm',
          },
          {
            id: 't1',
            amount: 5,
            balanceAfter: 5,
            type: 'TOP_UP',
            createdAt: '2026-06-30T11:00:00.000Z',
            requestId: null,
            modelId: null,
          },
        ],
        pagination: { limit: 50, offset: 0, hasMore: false },
      },
    },
  ],
  [
    'a top-up',
    TopUpResult,
    { success: true, data: { walletAddress: address, amountCredited: 5, newBalance: 5, paymentId: 'p' } },
  ],
  ['a top-up without payment', TopUpRequired, { x402Version: 2, accepts: rails }],
  [
    'a payment that is wrong',
    TopUpError,
    { error: 'X402_INVALID_PAYMENT', message: 'Invalid payment', details: { reason: 'amount_too_low' } },
  ],
  [
    'a settlement',
    SettlementResponse,
    { success: true, network: 'eip155:8453', payer: address, transaction: `0x${'ab'.repeat(32)}` },
  ],
  [
    'no credentials',
    DiscoveryRequired,
    {
      ...discovery,
      authOptions: {
        apiKey: {
          header: 'Authorization: Bearer YOUR_API_KEY',
          getKey: 'https://service.example/settings/api',
          docs: 'https://docs.service.example',
        },
        x402Wallet: {
          header: 'SIGN-IN-WITH-X',
          legacyHeader: 'X-Sign-In-With-X',
          topUp: 'POST /api/v1/x402/top-up',
          docs: 'https://docs.service.example',
        },
      },
    },
  ],
  ['the header of a 402', PaymentRequiredHeader, discovery],
  [
    'too little credit',
    WalletCreditRequired,
    {
      error: 'Payment required',
      code: 'PAYMENT_REQUIRED',
      reason: 'insufficient_balance',
      message: 'Insufficient x402 balance',
      currentBalanceUsd: 0.01,
      minimumBalanceUsd: 0.1,
      description: 'Service API',
      suggestedTopUpUsd: 10,
      minimumTopUpUsd: 5,
      supportedTokens: ['USDC'],
      supportedChains: ['base', 'solana'],
      topUpInstructions: {
        step1: 'POST',
        step2: 'Choose',
        step3: 'POST again',
        receiverWallet: address,
        tokenAddress: rails[0]?.asset,
        tokenDecimals: 6,
        network: 'eip155:8453',
        minimumAmountUsd: 5,
      },
      siwxChallenge: { info: challenge, supportedChains: signInChains, type: 'eip191' },
    },
  ],
  [
    'out of funds',
    StandardError,
    {
      error:
        'Insufficient USD or Diem balance to complete request. Visit https://service.example/settings/api to add credits.',
    },
  ],
  [
    'the abuse block',
    StandardError,
    { error: 'Too many failed attempts (> 20) resulting in a non-success status code. Please wait 30s and try again.' },
  ],
  [
    'a wrong request',
    DetailedError,
    {
      error: 'Invalid request parameters',
      details: { _errors: [], field: { _errors: ['Field is required'] } },
      issues: [{ code: 'invalid_type', path: ['field'], message: 'Field is required' }],
    },
  ],
  [
    'a context that is too long',
    OpenAiError,
    {
      error: {
        message: "Your request exceeds the model's maximum context.",
        type: 'invalid_request_error',
        param: null,
        code: 'context_length_exceeded',
      },
    },
  ],
  ['a quote', VideoQuote, { quote: 0.085 }],
  [
    'a queued video',
    VideoQueued,
    {
      model: 'm',
      queue_id: '123e4567-e89b-12d3-a456-426614174000',
      download_url: 'https://files.service.example/v?signature=x',
    },
  ],
  [
    'consent',
    NeedsConsent,
    {
      error: { code: 'needs_consent', message: 'Seedance consent is required for this request.' },
      consent_flow: 'seedance',
      face_media_roles: ['reference_image'],
      consent: { consent_version: 'v2.0', policy_text: 'The likeness in any media you upload is your own.' },
      docs_url: 'https://docs.service.example/guides/media/seedance-face-consent',
    },
  ],
  [
    'a video that is made',
    VideoStatus,
    { status: 'PROCESSING', average_execution_time: 145_000, execution_duration: 53_200 },
  ],
  [
    'a video that is done',
    VideoStatus,
    { status: 'COMPLETED', average_execution_time: 145_000, execution_duration: 153_200 },
  ],
  [
    'a video that its provider refused',
    ProviderContentPolicy,
    { error: { message: 'Refused', type: 'provider_content_policy', recommended_model: 'm2', credits_refunded: true } },
  ],
  [
    'a prompt that is not allowed',
    ContentViolation,
    { error: 'Your prompt violates the content policy of Service or the model provider', suggested_prompt: 'A boat' },
  ],
  [
    'a body that is too large',
    PayloadTooLarge,
    { code: 'PAYLOAD_TOO_LARGE', error: 'The request payload is too large. Please reduce the size of your request.' },
  ],
  [
    'limits of a key',
    RateLimits,
    {
      data: {
        accessPermitted: true,
        apiTier: { id: 'paid', isCharged: true },
        balances: { USD: 50.23, DIEM: 100.023 },
        keyExpiration: null,
        nextEpochBegins: '2025-05-07T00:00:00.000Z',
        rateLimits: [
          {
            apiModelId: 'm',
            rateLimits: [
              { amount: 100, type: 'RPM' },
              { amount: 2_000_000, type: 'TPM' },
            ],
          },
        ],
      },
    },
  ],
  [
    'a log of limits',
    RateLimitLog,
    {
      object: 'list',
      data: [
        {
          apiKeyId: 'k',
          modelId: 'm',
          rateLimitTier: 'paid',
          rateLimitType: 'FAILED_REQUESTS',
          timestamp: '2025-05-07T00:00:00.000Z',
        },
      ],
    },
  ],
  ['models of every type', ModelList, publishedModels],
  ['a chat', ChatCompletion, completion],
  [
    'the first chunk',
    ChatCompletionChunk,
    chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] }),
  ],
  [
    'the last chunk, with usage',
    ChatCompletionChunk,
    chunk({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
  ],
]
