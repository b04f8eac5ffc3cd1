import { ServiceError } from '#contract/errors/service-error.ts'
import { fromUsdNumber, type MicroUsd } from '#contract/money.ts'
import { getRateLimits } from '#contract/operations/rate-limits.ts'
import { getWalletBalance } from '#contract/operations/wallet.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { Core } from '../core.ts'
import { circumstancesOf, explain } from '../words/explain.ts'
import { withoutOperation } from './limits-view.ts'

export interface CreditSeen {
  /** Null where it cannot be seen. */
  creditMicroUsd: MicroUsd | null
  /** Why, where a person can mend it: a key that the service does not take, a service that is not there. */
  problem: string | null
}

/** Credit at the service. A status is told even while the service is away. */
export async function lookAtCredit(core: Core, signal?: AbortSignal): Promise<CreditSeen> {
  try {
    return { creditMicroUsd: await askCredit(core, signal), problem: null }
  } catch (error) {
    const said = hasNoSuchList(error) ? null : explain(error, circumstancesOf(core, false))
    return {
      creditMicroUsd: null,
      problem: said instanceof ToolFailure ? `${said.facts.happened} ${said.facts.next}` : null,
    }
  }
}

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
