import { expect, test } from 'vitest'
import type { HeaderCodec } from '#contract/wire/header-codec.ts'
import * as headers from '#contract/wire/headers.ts'

/** Names of headers that clients in the field rely on, as frozen literals. */

const isCodec = (value: unknown): value is HeaderCodec<unknown> =>
  typeof value === 'object' && value !== null && 'parse' in value && 'format' in value

test('header names', () => {
  const names = Object.entries(headers).flatMap(([constant, value]) =>
    isCodec(value) ? [`${constant} ${value.name}`] : [],
  )
  expect(names.sort()).toEqual([
    'authRefreshed x-auth-refreshed',
    'authorization authorization',
    'balanceDiem x-service-balance-diem',
    'balanceRemaining x-balance-remaining',
    'balanceUsd x-service-balance-usd',
    'containsMinor x-service-contains-minor',
    'contentDisposition content-disposition',
    'contentEncoding content-encoding',
    'contentType content-type',
    'controlInstance x-service-control-instance',
    'date date',
    'deprecated x-service-deprecated',
    'deprecatedReplacement x-service-deprecated-replacement',
    'deprecationDate x-service-model-deprecation-date',
    'deprecationWarning x-service-model-deprecation-warning',
    'hostName x-service-host-name',
    'idempotencyKey idempotency-key',
    'idempotentReplayed idempotent-replayed',
    'isAdultModelContentViolation x-service-is-adult-model-content-violation',
    'isBlurred x-service-is-blurred',
    'isContentViolation x-service-is-content-violation',
    'legacySignInWithX x-sign-in-with-x',
    'limitRequests x-ratelimit-limit-requests',
    'limitTokens x-ratelimit-limit-tokens',
    'limitType x-ratelimit-type',
    'middlefaceVersion x-service-middleface-version',
    'mobileVersion x-service-mobile-version',
    'modelId x-service-model-id',
    'modelName x-service-model-name',
    'modelRouter x-service-model-router',
    'nextCursor x-next-cursor',
    'ownRequestId x-farebox-request-id',
    'paginationLimit x-pagination-limit',
    'paginationPage x-pagination-page',
    'paginationTotal x-pagination-total',
    'paginationTotalPages x-pagination-total-pages',
    'paidOncePerKey x-service-paid-once-per-key',
    'paymentRequired payment-required',
    'paymentResponse payment-response',
    'paymentSignature payment-signature',
    'receipt x-farebox-receipt',
    'remainingRequests x-ratelimit-remaining-requests',
    'remainingTokens x-ratelimit-remaining-tokens',
    'requestId cf-ray',
    'requestTimestamp x-service-request-timestamp-ms',
    'resetRequests x-ratelimit-reset-requests',
    'resetTokens x-ratelimit-reset-tokens',
    'retryAfter retry-after',
    'retryCount x-retry-count',
    'rpcCost x-service-rpc-cost-usd',
    'rpcLimit x-ratelimit-limit',
    'rpcRemaining x-ratelimit-remaining',
    'rpcRequestId x-request-id',
    'rpcReset x-ratelimit-reset',
    'rpcUsedCredits x-service-rpc-credits',
    'shouldRetry x-should-retry',
    'signInWithX sign-in-with-x',
    'timestamp x-service-timestamp',
    'version x-service-version',
    'wantReceipt x-farebox-want-receipt',
  ])
  expect(headers.paymentHeaderNames).toEqual(['payment-signature', 'x-402-payment', 'x-payment'])
})
