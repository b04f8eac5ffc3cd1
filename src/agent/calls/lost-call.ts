import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { addUsd, displayUsd, fromUsdNumber, type MicroUsd, zeroUsd } from '#contract/money.ts'
import { getWalletTransactions } from '#contract/operations/wallet.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { chargeShownMs, clockSkewMs, keysKeptMs } from '../bounds.ts'
import type { AgentContext } from '../context.ts'
import type { ModelRecords } from '../prices/model-records.ts'
import { isUnknownCharge } from '../words/explain.ts'
import type { CallState, PaidCallRow } from './paid-call-rows.ts'

/** What is known about a call whose answer did not arrive. */
export class LostCall extends ToolFailure {
  /** No later check can find out more. */
  readonly isFinal: boolean

  constructor(facts: ToolFailure['facts'], isFinal: boolean) {
    super(facts)
    this.isFinal = isFinal
  }
}

/** For a service that keeps no answers by key; `shownAtMs` is when its records count as complete. */
function wasLost(shown: ShownCharge, shownAtMs: number): LostCall {
  const isOpen = shown.kind === 'none'
  return new LostCall(
    {
      happened: `The same call was sent a moment ago, and its answer was lost; ${saidOf(shown)}.`,
      charged: 'unknown',
      ...(isOpen ? { retryAtMs: shownAtMs } : {}),
      next: isOpen
        ? 'If there is still no answer then, the same call asks the user whether to buy it again; `again: true` buys it at once.'
        : 'Check in wallet_status whether the credit went down; `again: true` buys it again.',
    },
    !isOpen,
  )
}

/** For a call that is repeated only to get its answer: it is never bought again automatically. */
const showsNoCharge = (): LostCall =>
  new LostCall(
    {
      happened: 'The answer of this call was lost, and the service’s records show no charge for it.',
      charged: 'unknown',
      next: 'The same call asks the user whether to buy it again, because the service may still charge for the first one.',
    },
    true,
  )

export const wasNeverSent = (): LostCall =>
  new LostCall(
    {
      happened: 'The process that was making this call ended before it sent the call.',
      charged: zeroUsd,
      next: 'Make the same call to buy it now.',
    },
    true,
  )

/** The row says so; the process that knew the reason has ended. */
export const wasNotDone = (): LostCall =>
  new LostCall(
    {
      happened: 'The service did not complete the call.',
      charged: zeroUsd,
      next: 'Make the same call again to retry it and see why.',
    },
    true,
  )

/** Too old to be checked. */
export const wasForgotten = (): LostCall =>
  new LostCall(
    {
      happened: 'The answer did not arrive within a day, and the request is no longer kept.',
      charged: 'unknown',
      next: 'Check wallet_receipts.',
    },
    true,
  )

export const isAnothersCall = (): ToolFailure =>
  new ToolFailure({
    happened: 'This job was bought with a different wallet or API key than the configured one.',
    charged: zeroUsd,
    next: 'Ask the user to start this server with that one.',
  })

export const stillRunning = (): ToolFailure =>
  new ToolFailure({
    happened: 'The same call is in flight in another process.',
    charged: zeroUsd,
    next: 'Make the same call again in a moment to get its result. `again: true` buys another.',
  })

function saidOf(shown: ShownCharge): string {
  if (shown.kind === 'unknown') return 'it is unknown whether it was charged'
  if (shown.kind === 'none') return 'the service’s records show no charge yet'
  return `the service’s records show ${amountOf(shown.amountMicroUsd)} since`
}

const amountOf = (amount: MicroUsd | null): string =>
  amount === null ? 'a charge' : `a charge of ${displayUsd(amount)}`

/** Whether the service may have done and charged the request. */
export const isLost = (error: unknown): boolean =>
  error instanceof ClientError
    ? error.wasSent && error.kind !== 'redirected'
    : error instanceof ServiceError && isUnknownCharge(error)

/** Failures that a changed request may avoid. */
export const isTransient = (error: unknown): boolean =>
  error instanceof ClientError
    ? error.kind === 'unreachable' || error.kind === 'no-answer'
    : error instanceof ServiceError && error.retry === 'later'

/**
 * Finds out what happened to a call whose answer was lost. If the service keeps answers by key, and the request was
 * sent with a key, it is sent again with that key, from the same account. Otherwise the user decides, once the
 * service's records have had time to show a charge. Throws if they show one, and before that time.
 */
export async function reconcileLostCall(
  agent: AgentContext,
  models: ModelRecords,
  row: PaidCallRow,
  callState: CallState,
): Promise<void> {
  const account = await payingAccount(agent)
  const nowMs = agent.clock.now()
  const isKept = row.isKeyed && nowMs < row.createdAtMs + keysKeptMs
  if (isKept && row.account === account && (await models.takesKeys())) {
    callState.consents = row.consents
    callState.allowedMicroUsd = row.allowedMicroUsd
    return
  }
  const shown = await shownCharge(agent, row.account ?? account, row.createdAtMs)
  const shownAtMs = row.updatedAtMs + chargeShownMs
  if (shown.kind !== 'none' || nowMs < shownAtMs) throw wasLost(shown, shownAtMs)
  if (callState.isOnlyAsked) throw showsNoCharge()
  // A service may continue for longer, and charge at the end.
  callState.mayBeSecond = true
}

type ShownCharge =
  /** All charges since then together; null if an amount cannot be parsed. */
  { kind: 'some'; amountMicroUsd: MicroUsd | null } | { kind: 'none' } | { kind: 'unknown' }

/**
 * Returns whether a service's own records show a charge of this account since then: a wallet has one account per rail,
 * and the call was paid from one of them. `unknown` for an API key, whose charges callers cannot list, and if the
 * records cannot be read.
 */
async function shownCharge(
  { client }: Pick<AgentContext, 'client'>,
  account: string | null,
  sinceMs: number,
): Promise<ShownCharge> {
  if (account === null) return { kind: 'unknown' }
  try {
    const call = { params: { walletAddress: account }, query: {}, body: undefined }
    const { answer } = await client.call(getWalletTransactions, call, { attempts: 2 })
    const { transactions, pagination } = answer.data
    const earliestMs = sinceMs - clockSkewMs
    const isBefore = ({ createdAt }: { createdAt: string }) => Date.parse(createdAt) < earliestMs
    const charges = transactions.filter(row => row.type === 'CHARGE' && !isBefore(row))
    // Records are newest first, so if a whole page is newer, the next page has more of them.
    const hasMore = pagination.hasMore && !transactions.some(isBefore)
    if (charges.length > 0) return { kind: 'some', amountMicroUsd: hasMore ? null : sumOf(charges) }
    return { kind: hasMore ? 'unknown' : 'none' }
  } catch {
    return { kind: 'unknown' }
  }
}

/** Charges are negative in the records. */
function sumOf(charges: readonly { amount: number }[]): MicroUsd | null {
  let sum: MicroUsd = zeroUsd
  for (const { amount } of charges) {
    const charged = fromUsdNumber(-amount)
    if (charged === null) return null
    sum = addUsd(sum, charged)
  }
  return sum
}

/** Returns the wallet's address whose account at the service pays now; null with an API key. */
export const payingAccount = async ({ wallet }: Pick<AgentContext, 'wallet'>): Promise<string | null> =>
  (await wallet?.account()) ?? null
