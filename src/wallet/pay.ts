import type { DatabaseSync } from 'node:sqlite'
import { displayUsd, type MicroUsd } from '#contract/money.ts'
import { ask, findUsable, hashOfFacts, useApproval } from './approvals.ts'
import type { ChosenOption } from './choose-option.ts'
import { type Decision, decide, type Situation } from './decide.ts'
import { signExactPayment } from './evm-exact.ts'
import * as journal from './journal.ts'
import * as limits from './limits.ts'
import { NeedsApproval } from './needs-approval.ts'
import { newId } from './new-id.ts'
import type { Order } from './order.ts'
import { payeesOf } from './payees.ts'
import { WalletRefusal } from './refusal.ts'
import type { Send } from './send-payment.ts'
import { finishOpen, settle } from './settle.ts'
import { isStopped, refuseWhenStopped } from './stop-file.ts'
import type { Till } from './till.ts'
import { type TopUpLease, withTopUpLease } from './top-up-lease.ts'

export interface PaidOrder {
  receiptId: string
  amountMicroUsd: MicroUsd
  creditedMicroUsd: MicroUsd
  newBalanceMicroUsd: MicroUsd
  transaction: string | null
  /** Another payment has brought credit meanwhile; nothing was signed for this order. Look at the credit again. */
  isEarlier: boolean
}

/** The only way of money out of the wallet: one at a time, the open one first, a row on disk before each step. */
export async function pay(till: Till, order: Order, send: Send): Promise<PaidOrder> {
  const { state, clock } = till
  refuseWhenStopped(state.folder)
  const askedAtMs = clock.now()
  return withTopUpLease(state, clock, till.pause, async lease => {
    // In a dry run nothing leaves, also not what was signed before it.
    const earlier = till.policy.dryRun
      ? null
      : ((await finishOpen(till, lease, send)) ?? recentPayment(till, lease, order, askedAtMs))
    if (earlier) return paid(earlier, true)
    const planned = planPayment(till, lease, order)
    const signed = await signExactPayment(till.key, planned.chosen, planned.amountMicroUsd, clock.now())
    state.decide(db => {
      lease.check(db)
      // The switch may have been thrown since; what is not stored is never sent.
      refuseWhenStopped(state.folder)
      journal.toSigned(db, planned.id, signed, clock.now())
    })
    return paid(await settle(till, lease, planned.id, send), false)
  })
}

const paid = (payment: journal.Payment, isEarlier: boolean): PaidOrder => ({
  receiptId: payment.id,
  amountMicroUsd: payment.amountMicroUsd,
  creditedMicroUsd: payment.creditedMicroUsd ?? payment.amountMicroUsd,
  newBalanceMicroUsd: payment.balanceMicroUsd ?? payment.amountMicroUsd,
  transaction: payment.transaction,
  isEarlier,
})

/**
 * A 402 may be older than a payment that was made since; its caller looks again before anything more is paid. What was
 * asked for twice, because an answer was lost, is paid once.
 */
function recentPayment({ state, key, policy }: Till, lease: TopUpLease, order: Order, askedAtMs: number) {
  if (order.origin !== policy.origin) return null
  if (order.occasion === 'asked') {
    const { sameSinceMs, amountMicroUsd } = order
    const same = { address: key.address, origin: policy.origin, amountMicroUsd }
    return sameSinceMs === undefined ? null : journal.askedSince(state.database(), same, sameSinceMs)
  }
  const sinceMs = askedAtMs - Math.min(limits.lookAgainMs, policy.cooldownMs)
  if (!lease.hasWaited && policy.cooldownMs === 0) return null
  return journal.confirmedSince(state.database(), key.address, policy.origin, sinceMs)
}

interface Planned {
  id: string
  amountMicroUsd: MicroUsd
  chosen: ChosenOption
}

/** Decides and reserves in one transaction, so that two processes cannot spend one budget twice. */
function planPayment(till: Till, lease: TopUpLease, order: Order): Planned {
  const { state, clock, key, policy } = till
  const outcome = state.decide((db): Planned | Exclude<Decision, { kind: 'allowed' }> | NeedsApproval => {
    lease.check(db)
    const nowMs = clock.now()
    const decision = decide(policy, situationOf(db, till, nowMs), order)
    if (decision.kind === 'asks')
      return new NeedsApproval(ask(db, decision.facts, hashOfFacts(decision.facts), nowMs, state.folder))
    if (decision.kind === 'refused' || policy.dryRun) return decision.kind === 'refused' ? decision : dryRun(decision)
    const { chosen, amountMicroUsd, approvedBy } = decision
    const id = newId('pay')
    if (approvedBy && !useApproval(db, approvedBy, hashOfFacts(approvedBy), id, nowMs)) return unusedApproval
    const purpose = order.purpose.slice(0, limits.maxPurposeLength)
    journal.plan(
      db,
      { id, order: { ...order, purpose }, payee: chosen.payee, address: key.address, amountMicroUsd },
      nowMs,
    )
    return { id, amountMicroUsd, chosen }
  })
  if (outcome instanceof NeedsApproval) throw outcome
  if ('kind' in outcome) throw new WalletRefusal(refusalOf(outcome))
  return outcome
}

const refusalOf = (decision: Exclude<Decision, { kind: 'allowed' }>) =>
  decision.kind === 'refused' ? decision.refusal : unusedApproval.refusal

const unusedApproval = {
  kind: 'refused',
  refusal: { rule: 'denied', sentence: 'The approval was used by another payment.', nextStep: 'Ask the person again.' },
} as const

const dryRun = ({ amountMicroUsd, chosen }: Extract<Decision, { kind: 'allowed' }>) =>
  ({
    kind: 'refused',
    refusal: {
      rule: 'dry-run',
      sentence: `Dry run: ${displayUsd(amountMicroUsd)} would have been paid to ${chosen.payee.payTo} on ${chosen.payee.network}.`,
      nextStep: 'Unset FAREBOX_DRY_RUN to pay.',
    },
  }) as const

export function situationOf(
  db: DatabaseSync,
  { state, policy }: Pick<Till, 'state' | 'policy'>,
  nowMs: number,
): Situation {
  return {
    nowMs,
    spent: journal.spentOf(db, nowMs),
    approvedPayees: payeesOf(db, policy.origin),
    isStopped: isStopped(state.folder),
    isApproved: facts => findUsable(db, facts, hashOfFacts(facts), nowMs) !== null,
  }
}
