import { type HeaderFields, secondsUntil } from '#contract/errors/retry-after.ts'
import {
  limitRequests,
  limitTokens,
  limitType,
  remainingRequests,
  remainingTokens,
  resetRequests,
  resetTokens,
  retryAfter,
  rpcLimit,
  rpcRemaining,
  rpcReset,
} from '#contract/wire/headers.ts'
import { windowMs } from './bounds.ts'
import { countedTokens, type DimensionState, type Standing, type Taken } from './limit-store.ts'

/** Brief §8.4 of a request that was counted or refused; on a refusal also when to retry. */
export const takenHeaders = (taken: Taken, nowMs: number): HeaderFields =>
  limitHeaders(taken, nowMs, { isRefused: !taken.allowed })

/** The same of a request whose estimated tokens were given back after it was let in. */
export const givenBackHeaders = (taken: Taken, nowMs: number): HeaderFields =>
  limitHeaders({ ...taken, states: taken.states.map(state => withTokensBack(state, taken.reservation.tokens)) }, nowMs)

function withTokensBack(state: DimensionState, tokens: number): DimensionState {
  const { dimension, remainingTokens } = state
  if (remainingTokens === undefined) return state
  const most = dimension.tokensPerMinute ?? 0
  return { ...state, remainingTokens: Math.min(most, remainingTokens + countedTokens(dimension, tokens)) }
}

/** The tightest dimension of requests and that of tokens. */
export function limitHeaders(
  { windowStartMs, states }: Standing,
  nowMs: number,
  { isRefused = false } = {},
): HeaderFields {
  const requests = tightest(states, state => state.remainingRequests / state.dimension.requestsPerMinute)
  if (!requests) return {}
  const counted = states.filter(state => state.remainingTokens !== undefined)
  const tokens = tightest(counted, state => (state.remainingTokens ?? 0) / (state.dimension.tokensPerMinute ?? 1))
  const endMs = windowStartMs + windowMs
  const refusing = states.find(({ met }) => met !== null)
  return {
    [limitRequests.name]: limitRequests.format(requests.dimension.requestsPerMinute),
    [remainingRequests.name]: remainingRequests.format(requests.remainingRequests),
    // Also where tokens were the tight ones: the two reset in the same moment.
    [resetRequests.name]: resetRequests.format(Math.ceil(endMs / 1000)),
    ...(tokens && tokenHeaders(tokens, endMs - nowMs)),
    [limitType.name]: limitType.format((refusing ?? requests).dimension.type),
    ...(isRefused && requests.dimension.key.includes(':crypto.rpc:')
      ? rpcLimitHeaders({ limit: requests.dimension.requestsPerMinute, remaining: 0, resetMs: endMs })
      : {}),
    ...(isRefused && { [retryAfter.name]: retryAfter.format(secondsUntil(endMs, nowMs)) }),
  }
}

/** The published names of chain nodes alone, beside the others; the reset is Unix seconds. */
export const rpcLimitHeaders = (met: { limit: number; remaining: number; resetMs: number }): HeaderFields => ({
  [rpcLimit.name]: rpcLimit.format(met.limit),
  [rpcRemaining.name]: rpcRemaining.format(met.remaining),
  [rpcReset.name]: rpcReset.format(Math.ceil(met.resetMs / 1000)),
})

function tokenHeaders({ dimension, remainingTokens: remaining }: DimensionState, untilMs: number): HeaderFields {
  return {
    [limitTokens.name]: limitTokens.format(dimension.tokensPerMinute ?? 0),
    [remainingTokens.name]: remainingTokens.format(remaining ?? 0),
    [resetTokens.name]: resetTokens.format(Math.max(0, Math.ceil(untilMs / 1000))),
  }
}

function tightest(states: readonly DimensionState[], room: (state: DimensionState) => number): DimensionState | null {
  return states.reduce<DimensionState | null>(
    (least, state) => (least === null || room(state) < room(least) ? state : least),
    null,
  )
}
