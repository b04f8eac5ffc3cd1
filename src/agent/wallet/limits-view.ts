import { ClientError } from '#client/client-error.ts'
import type { SeenLimit } from '#client/pace/gate.ts'
import { asClause } from '#contract/errors/as-clause.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { fromUsdNumber, type MicroUsd } from '#contract/money.ts'
import { getRateLimits, type RateLimits } from '#contract/operations/rate-limits.ts'
import { getWalletBalance } from '#contract/operations/wallet.ts'
import type { LimitsView, SeenAmount, WalletView } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { Policy } from '#wallet/rules/policy.ts'
import { creditLookMs, limitsLifeMs } from '../bounds.ts'
import type { AgentContext } from '../context.ts'
import { cannotPay, circumstancesOf, explain } from '../words/explain.ts'

/**
 * The caller's limits. The service's own list is read again after each call and payment, because they may change the
 * tier. The remaining requests by model come from answers to any process of this machine.
 */
export class Limits {
  readonly #agent: AgentContext
  #kept: { limits: RateLimits | null; readAtMs: number; activity: number } | undefined

  constructor(agent: AgentContext) {
    this.#agent = agent
  }

  async view(): Promise<LimitsView> {
    const { client, pays } = this.#agent
    if (pays === 'nothing') throw cannotPay(this.#agent)
    const limits = await this.#limits()
    const listed = limits ? listedModels(limits) : []
    const seen = new Map(client.limitsSeen.models().map(limit => [limit.model, limit]))
    return {
      tier: limits?.data.apiTier.id ?? null,
      source: listed.length > 0 ? 'service' : 'answers',
      models: withWhatIsLeft(listed, seen),
    }
  }

  /** Returns null if the service has no such list. */
  async #limits(): Promise<RateLimits | null> {
    const { client, pays, clock } = this.#agent
    const ageMs = this.#kept ? clock.now() - this.#kept.readAtMs : limitsLifeMs
    if (this.#kept?.activity === client.activity && ageMs >= 0 && ageMs < limitsLifeMs) return this.#kept.limits
    const call = { params: undefined, query: undefined, body: undefined }
    const limits = await client.call(getRateLimits, call).then(
      ({ answer }) => answer,
      error => nullWithoutList(error, pays === 'wallet'),
    )
    this.#kept = { limits, readAtMs: clock.now(), activity: client.activity }
    return limits
  }
}

export const refillOf = ({ refill }: Pick<Policy, 'refill'>): WalletView['refill'] =>
  refill && { below: refill.belowMicroUsd, by: refill.byMicroUsd }

type ModelLimits = LimitsView['models'][number]

const nothingSeen = { requestsLeft: null, requestsResetAtMs: null, tokensLeft: null, tokensResetAtMs: null }

function listedModels({ data }: RateLimits): ModelLimits[] {
  return data.rateLimits.flatMap(({ apiModelId, rateLimits }) => {
    const amount = (wanted: string) => rateLimits.find(({ type }) => type === wanted)?.amount ?? null
    const row = { requestsPerMinute: amount('RPM'), tokensPerMinute: amount('TPM'), ...nothingSeen }
    return apiModelId === undefined ? [] : [{ model: apiModelId, ...row }]
  })
}

/** One row per model, recently called ones first; for a service that lists none, the rows that its answers reported. */
function withWhatIsLeft(listed: readonly ModelLimits[], seen: ReadonlyMap<string, SeenLimit>): ModelLimits[] {
  if (listed.length === 0) return [...seen.values()].map(({ seenAtMs, ...limit }) => limit)
  const rows = listed.map(row => {
    const { requestsLeft, requestsResetAtMs, tokensLeft, tokensResetAtMs } = seen.get(row.model) ?? nothingSeen
    return { ...row, requestsLeft, requestsResetAtMs, tokensLeft, tokensResetAtMs }
  })
  return [...rows.filter(({ model }) => seen.has(model)), ...rows.filter(({ model }) => !seen.has(model))]
}

/** For a service that does not know the operation, or uses its address for something else. */
function nullWithoutList(error: unknown, isWallet: boolean): null {
  const hasNone =
    error instanceof ServiceError
      ? withoutOperation.has(error.status) || (isWallet && isForKeysAlone(error))
      : isUnreadable(error)
  if (hasNone) return null
  throw error
}

/** Statuses of a service that does not know an operation. */
const withoutOperation: ReadonlySet<number> = new Set([404, 405, 410, 501])

/**
 * Published services list only the limits of keys: a wallet is unauthenticated there, whereas a wrong sign-in is
 * reported as one.
 */
const isForKeysAlone = ({ kind }: ServiceError): boolean => kind === 'AUTHENTICATION_FAILED'

const isUnreadable = (error: unknown): boolean => error instanceof ClientError && error.kind === 'unreadable'

export interface CreditSeen {
  /** Null if it is unknown. */
  creditMicroUsd: MicroUsd | null
  /** Why it is unknown, if the user can fix that: the service refuses the key, or does not answer. */
  why: string | null
  /** `why`, followed by what to do. */
  problem: string | null
}

/**
 * What a status shows about the credit: the time when it was read, or why it is unknown. A status works even while the
 * service is down.
 */
export async function seeCredit(
  agent: AgentContext,
): Promise<CreditSeen & { seen: Pick<SeenAmount, 'atMs' | 'unknown'> }> {
  const timeout = AbortSignal.timeout(creditLookMs)
  const credit = await lookAtCredit(agent, timeout).catch(error => {
    if (timeout.aborted) return { creditMicroUsd: null, problem: null, why: null }
    throw error
  })
  if (credit.creditMicroUsd !== null) return { ...credit, seen: { atMs: agent.clock.now(), unknown: null } }
  const silent = timeout.aborted ? 'the service did not answer in time' : 'the service does not report it'
  const unknown = agent.pays === 'nothing' ? 'there is no wallet or key to ask with' : (credit.why ?? silent)
  return { ...credit, seen: { atMs: null, unknown } }
}

/** Reads the credit at the service. */
async function lookAtCredit(agent: AgentContext, signal?: AbortSignal): Promise<CreditSeen> {
  try {
    return { creditMicroUsd: await askCredit(agent, signal), why: null, problem: null }
  } catch (error) {
    const said = hasNoSuchList(error) ? null : explain(error, circumstancesOf(agent, false))
    if (!(said instanceof ToolFailure)) return { creditMicroUsd: null, why: null, problem: null }
    const { happened, retryAtMs, next } = said.facts
    const when = retryAtMs === undefined ? '' : `Retry after ${new Date(retryAtMs).toISOString()}. `
    return { creditMicroUsd: null, why: asClause(happened), problem: `${happened} ${when}${next}` }
  }
}

async function askCredit({ client, wallet, pays }: AgentContext, signal?: AbortSignal): Promise<MicroUsd | null> {
  if (wallet) {
    const call = { params: { walletAddress: await wallet.account() }, query: undefined, body: undefined }
    const { answer } = await client.call(getWalletBalance, call, { attempts: 2, signal })
    return fromUsdNumber(answer.data.balanceUsd)
  }
  if (pays === 'nothing') return null
  const noCall = { params: undefined, query: undefined, body: undefined }
  const { answer } = await client.call(getRateLimits, noCall, { attempts: 2, signal })
  return answer.data.balances.USD === undefined ? null : fromUsdNumber(answer.data.balances.USD)
}

/** Services need not report the credit. */
const hasNoSuchList = (error: unknown): boolean => error instanceof ServiceError && withoutOperation.has(error.status)

/** Null if it is unknown. */
export const creditOf = async (agent: AgentContext): Promise<MicroUsd | null> =>
  (await lookAtCredit(agent)).creditMicroUsd
