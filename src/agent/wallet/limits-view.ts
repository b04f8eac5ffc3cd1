import { ClientError } from '#client/client-error.ts'
import type { SeenLimit } from '#client/pace/limits-seen.ts'
import { fromUsdNumber } from '#contract/money.ts'
import { getRateLimits, type RateLimits } from '#contract/rate-limits.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { LimitsView, WalletView } from '#toolkit/tool-context.ts'
import type { Policy } from '#wallet/rules/policy.ts'
import { limitsLifeMs } from '../bounds.ts'
import type { Core } from '../core.ts'
import { nobodyPays } from '../words/explain.ts'

/**
 * Limits of the caller: the service's own list, kept for a minute, beside what the last answer said. Of a service without
 * a list what its answers to any process of this machine said.
 */
export class LimitsDesk {
  readonly #core: Core
  #known: { limits: RateLimits | null; atMs: number } | null = null

  constructor(core: Core) {
    this.#core = core
  }

  async view(): Promise<LimitsView> {
    const { client, pays, wallet } = this.#core
    if (pays === 'nothing') throw nobodyPays(this.#core)
    const limits = await this.#limits()
    const listed = limits ? listedModels(limits) : []
    const usd = limits?.data.balances.USD
    const refill = wallet && refillOf(wallet.policy)
    const last = client.limitsSeen.last
    return {
      creditMicroUsd: usd === undefined ? null : fromUsdNumber(usd),
      ...(refill && { refill }),
      source: listed.length > 0 ? 'service' : 'answers',
      models: listed.length > 0 ? listed : client.limitsSeen.models().map(seenModel),
      window: last && {
        requestsLeft: last.requestsLeft,
        requestsResetAtMs: last.requestsResetAtMs,
        tokensLeft: last.tokensLeft,
        tokensResetAtMs: last.tokensResetAtMs,
      },
    }
  }

  /** Null where the service has no such list. */
  async #limits(): Promise<RateLimits | null> {
    const { client, clock, pays } = this.#core
    const nowMs = clock.now()
    if (this.#known && nowMs - this.#known.atMs < limitsLifeMs) return this.#known.limits
    const call = { params: undefined, query: undefined, body: undefined }
    const limits = await client.call(getRateLimits, call).then(
      ({ answer }) => answer,
      error => nullWithoutList(error, pays === 'wallet'),
    )
    this.#known = { limits, atMs: nowMs }
    return limits
  }
}

/** Of a wallet's policy. */
export const refillOf = ({ refill }: Pick<Policy, 'refill'>): WalletView['refill'] =>
  refill && { below: refill.belowMicroUsd, by: refill.byMicroUsd }

function listedModels({ data }: RateLimits): LimitsView['models'] {
  return data.rateLimits.flatMap(({ apiModelId, rateLimits }) => {
    const amount = (wanted: string) => rateLimits.find(({ type }) => type === wanted)?.amount ?? null
    const row = { requestsPerMinute: amount('RPM'), tokensPerMinute: amount('TPM') }
    return apiModelId === undefined ? [] : [{ model: apiModelId, ...row }]
  })
}

const seenModel = ({ model, requestsPerMinute, tokensPerMinute }: SeenLimit): LimitsView['models'][number] => ({
  model,
  requestsPerMinute,
  tokensPerMinute,
})

/** A service that does not know the operation, or answers something else there. */
function nullWithoutList(error: unknown, isWallet: boolean): null {
  const hasNone =
    error instanceof ServiceError
      ? withoutOperation.has(error.status) || (isWallet && isForKeysAlone(error))
      : isUnreadable(error)
  if (hasNone) return null
  throw error
}

/** Of a service that does not know an operation. */
export const withoutOperation: ReadonlySet<number> = new Set([404, 405, 410, 501])

/** Published services list the limits of keys: a wallet is nobody there, whereas a sign-in that is wrong is told as one. */
const isForKeysAlone = ({ kind }: ServiceError): boolean => kind === 'AUTHENTICATION_FAILED'

const isUnreadable = (error: unknown): boolean => error instanceof ClientError && error.kind === 'unreadable'
