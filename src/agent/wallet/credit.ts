import { ServiceError } from '#contract/errors/service-error.ts'
import { fromUsdNumber, type MicroUsd } from '#contract/money.ts'
import { getRateLimits } from '#contract/operations/rate-limits.ts'
import { getWalletBalance } from '#contract/operations/wallet.ts'
import type { SeenAmount } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { creditLookMs } from '../bounds.ts'
import type { Core } from '../core.ts'
import { circumstancesOf, explain } from '../words/explain.ts'
import { withoutOperation } from './limits-view.ts'

export interface CreditSeen {
  /** Null where it cannot be seen. */
  creditMicroUsd: MicroUsd | null
  /** Why it cannot be seen, where the user can fix that: a key that the service refuses, a service that does not answer. */
  why: string | null
  /** The same with what to do. */
  problem: string | null
}

/** What a status shows of it: the time, or why it is unknown. A status is shown while the service is away. */
export async function seeCredit(core: Core): Promise<CreditSeen & { seen: Pick<SeenAmount, 'atMs' | 'unknown'> }> {
  const timeout = AbortSignal.timeout(creditLookMs)
  const credit = await lookAtCredit(core, timeout).catch(error => {
    if (timeout.aborted) return { creditMicroUsd: null, problem: null, why: null }
    throw error
  })
  if (credit.creditMicroUsd !== null) return { ...credit, seen: { atMs: core.clock.now(), unknown: null } }
  const silent = timeout.aborted ? 'the service did not answer in time' : 'the service does not tell it'
  const unknown = core.pays === 'nothing' ? 'nothing is open here that could ask for it' : (credit.why ?? silent)
  return { ...credit, seen: { atMs: null, unknown } }
}

/** Credit at the service. */
export async function lookAtCredit(core: Core, signal?: AbortSignal): Promise<CreditSeen> {
  try {
    return { creditMicroUsd: await askCredit(core, signal), why: null, problem: null }
  } catch (error) {
    const said = hasNoSuchList(error) ? null : explain(error, circumstancesOf(core, false))
    if (!(said instanceof ToolFailure)) return { creditMicroUsd: null, why: null, problem: null }
    const { happened, retryAtMs, next } = said.facts
    const when = retryAtMs === undefined ? '' : `Retry after ${new Date(retryAtMs).toISOString()}. `
    return { creditMicroUsd: null, why: asClause(happened), problem: `${happened} ${when}${next}` }
  }
}

/** Of a sentence, for the middle of another one. */
const asClause = (sentence: string): string =>
  sentence.replace(/^\p{Lu}(?=\p{Ll}|\s)/u, first => first.toLowerCase()).replace(/\.$/, '')

async function askCredit({ client, wallet, pays }: Core, signal?: AbortSignal): Promise<MicroUsd | null> {
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

/** Services need not say what credit there is. */
const hasNoSuchList = (error: unknown): boolean => error instanceof ServiceError && withoutOperation.has(error.status)

/** Null where it cannot be seen. */
export const creditOf = async (core: Core): Promise<MicroUsd | null> => (await lookAtCredit(core)).creditMicroUsd
