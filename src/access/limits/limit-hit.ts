import type { ServiceError } from '#contract/errors/service-error.ts'
import { limitType, remainingRequests } from '#contract/wire/headers.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { LogLimit } from '#ledger/store/units.ts'
import type { MetLimit } from './limit-log.ts'
import type { LimitedDemand } from './limit-rules.ts'

interface Met {
  type: LogLimit['type']
  /** Says which limit it was where the published types have no word for it. */
  tier?: string
}

/** Which limit a refusal is about, by its kind. Absent: the refusal is about no limit of the caller. */
const metByKind: Readonly<Record<string, Met>> = {
  RATE_LIMIT_EXCEEDED: { type: 'RPM' },
  RPC_CREDITS_USED: { type: 'RPD' },
  RPC_IN_FLIGHT: { type: 'RPM', tier: 'in_flight' },
  X402_CONCURRENCY_LIMIT: { type: 'RPM', tier: 'in_flight' },
  TOO_MANY_UNREAD_CALLS: { type: 'RPM', tier: 'in_flight' },
  BODIES_FULL: { type: 'RPM', tier: 'body_bytes' },
  FAILED_REQUESTS: { type: 'FAILED_REQUESTS' },
}

/** The row of a refused request for the log of its caller; null where the refusal is about no limit. */
export function limitHit(
  principal: Principal,
  demand: LimitedDemand,
  { kind, headers }: ServiceError,
): MetLimit | null {
  const met = metByKind[kind]
  if (!met) return null
  const { operation, model } = demand
  const isGlobal = headers[limitType.name] === 'global'
  const plain = model?.tier ?? principal.plan
  // A window that has requests left has refused for its tokens.
  const isTokens = kind === 'RATE_LIMIT_EXCEEDED' && headers[remainingRequests.name] !== '0'
  return {
    account: principal.account,
    key: principal.kind === 'key' ? principal.keyId : null,
    model: model?.id ?? operation.limit,
    tier: met.tier ?? (isGlobal ? 'global' : plain),
    type: isTokens ? 'TPM' : met.type,
  }
}
