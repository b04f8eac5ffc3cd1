import type { HeaderCodec } from './header-codec.ts'
import * as headers from './headers.ts'
import { isIdempotent, isPaid, type Operation, readsKey } from './operation.ts'

/** What a description tells of a header, whatever its value is. */
export type DescribedHeader = Pick<HeaderCodec<unknown>, 'name' | 'when' | 'schema'>

const listed = (...codecs: readonly DescribedHeader[]): readonly DescribedHeader[] => codecs

const always = listed(headers.requestId, headers.version, headers.contentEncoding)
const requestLimits = listed(headers.limitRequests, headers.remainingRequests, headers.resetRequests, headers.limitType)
const tokenLimits = listed(headers.limitTokens, headers.remainingTokens, headers.resetTokens)
const balances = listed(headers.balanceUsd, headers.balanceDiem)
const model = listed(
  headers.modelId,
  headers.modelName,
  headers.modelRouter,
  headers.deprecationWarning,
  headers.deprecationDate,
  headers.deprecated,
  headers.deprecatedReplacement,
)

const rpcCharge = listed(headers.rpcUsedCredits, headers.rpcCost, headers.rpcRequestId)
const rpcLimits = listed(headers.rpcLimit, headers.rpcRemaining, headers.rpcReset)

/** Where a wallet pays, or fetches what it has paid for. */
const showsBalance = (operation: Operation): boolean =>
  isPaid(operation) || operation.limit === 'video.retrieve' || operation.limit === 'audio.retrieve'

const all: readonly unknown[] = Object.values(headers)

const isDescribed = (value: unknown): value is DescribedHeader =>
  typeof value === 'object' && value !== null && 'name' in value && 'schema' in value

/** Those that the operation names itself. */
const ownHeaders = ({ answer }: Operation): readonly DescribedHeader[] =>
  all.filter(isDescribed).filter(({ name }) => answer.headers?.includes(name))

/** Headers that an answer of this operation may carry (brief §8.4, §9); which of them it does is the server's to know. */
export function answerHeaders(operation: Operation, status: number): readonly DescribedHeader[] {
  const isSuccess = status < 300
  const isAuthenticated = operation.auth.length > 0 || readsKey(operation)
  return [
    ...always,
    ...(isAuthenticated || operation.limit === 'top-up' ? requestLimits : []),
    ...(isAuthenticated && operation.limit === 'text' ? tokenLimits : []),
    ...(isAuthenticated ? balances : []),
    ...(isPaid(operation) ? model : []),
    ...(isPaid(operation) && operation.limit === 'image' ? listed(headers.isContentViolation) : []),
    ...(isPaid(operation) && operation.limit === 'image'
      ? listed(headers.isAdultModelContentViolation, headers.containsMinor)
      : []),
    ...(isSuccess && isPaid(operation) && operation.limit === 'image' ? listed(headers.isBlurred) : []),
    ...(isSuccess && isPaid(operation) ? listed(headers.receipt) : []),
    ...(isSuccess && showsBalance(operation) ? listed(headers.balanceRemaining) : []),
    ...(isSuccess && operation.charge === 'payment' ? listed(headers.paymentResponse) : []),
    ...(isSuccess && operation.limit === 'crypto.rpc' ? rpcCharge : []),
    ...(status === 429 && operation.limit === 'crypto.rpc' ? rpcLimits : []),
    ...(isSuccess ? ownHeaders(operation) : []),
    ...(status === 402 ? listed(headers.paymentRequired) : []),
    ...(isSuccess && isIdempotent(operation) ? listed(headers.idempotentReplayed) : []),
    ...(isSuccess && operation.id === 'listModels' ? listed(headers.paidOncePerKey) : []),
    ...(status === 429 || status === 503 || (status === 409 && isIdempotent(operation))
      ? listed(headers.retryAfter)
      : []),
  ]
}
