import { fromUsdNumber } from '#contract/money.ts'
import { getRateLimits, type RateLimits } from '#contract/rate-limits.ts'
import type { LimitsView } from '#toolkit/tool-context.ts'
import { limitsLifeMs } from './bounds.ts'
import type { Core } from './core.ts'
import { nobodyPays } from './explain.ts'

/** Limits of the caller: the service's own list, kept for a minute, beside what the last answer said. */
export class LimitsDesk {
  readonly #core: Core
  #known: { limits: RateLimits; atMs: number } | null = null

  constructor(core: Core) {
    this.#core = core
  }

  async view(): Promise<LimitsView> {
    const { client, pays } = this.#core
    if (pays === 'nothing') throw nobodyPays(this.#core)
    const { data } = await this.#limits()
    const last = client.limitsSeen.last
    return {
      creditMicroUsd: data.balances.USD === undefined ? null : fromUsdNumber(data.balances.USD),
      models: data.rateLimits.flatMap(({ apiModelId, rateLimits }) => {
        const amount = (wanted: string) => rateLimits.find(({ type }) => type === wanted)?.amount ?? null
        const row = { requestsPerMinute: amount('RPM'), tokensPerMinute: amount('TPM') }
        return apiModelId === undefined ? [] : [{ model: apiModelId, ...row }]
      }),
      window: last && {
        requestsLeft: last.requestsLeft,
        requestsResetAtMs: last.requestsResetAtMs,
        tokensLeft: last.tokensLeft,
        tokensResetAtMs: last.tokensResetAtMs,
      },
    }
  }

  async #limits(): Promise<RateLimits> {
    const { client, clock } = this.#core
    const nowMs = clock.now()
    if (this.#known && nowMs - this.#known.atMs < limitsLifeMs) return this.#known.limits
    const { answer } = await client.call(getRateLimits, { params: undefined, query: undefined, body: undefined })
    this.#known = { limits: answer, atMs: nowMs }
    return answer
  }
}
