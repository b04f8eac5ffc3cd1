import { displayUsd, type MicroUsd } from '#contract/money.ts'
import type { Order, Payee, Spent } from '../terms/order.ts'
import type { Refusal, RefusedTerms, Rule } from '../terms/refusal.ts'
import type { Policy } from './policy.ts'

export interface Situation {
  nowMs: number
  spent: Spent
  /** Payees that the user has approved, in addition to those of the policy. */
  approvedPayees: readonly Payee[]
  /** The user has switched the wallet off. */
  isStopped: boolean
  payer: string
  /** The time by other clocks, if known. */
  otherClocks?: readonly { whose: 'service' | 'chain'; atMs: number }[]
}

export const refusal = (rule: Rule, sentence: string, nextStep: string, terms: RefusedTerms = {}): Refusal => ({
  ...{ rule, sentence, nextStep, terms },
})

/** Returns the cap of the wallet that a payment would exceed; null if it is within all of them. */
export function beyondCap(policy: Policy, situation: Situation, order: Order, amount: MicroUsd): Refusal | null {
  const { spent, nowMs } = situation
  if (amount > policy.maxPaymentMicroUsd) return overCap('max-payment', amount, policy.maxPaymentMicroUsd)
  if (spent.totalMicroUsd + amount > policy.maxTotalMicroUsd)
    return refusal(
      'max-total',
      `${displayUsd(amount)} more would exceed the wallet's total cap of ${displayUsd(policy.maxTotalMicroUsd)}; ${displayUsd(spent.totalMicroUsd)} of it is used or reserved.`,
      'Ask the user to raise FAREBOX_MAX_TOTAL_USD.',
      withLimit(policy.maxTotalMicroUsd, spent.totalMicroUsd),
    )
  if (spent.dayMicroUsd + amount > policy.maxDayMicroUsd)
    return refusal(
      'max-day',
      `${displayUsd(amount)} more would exceed the cap of ${displayUsd(policy.maxDayMicroUsd)} in 24 hours; ${displayUsd(spent.dayMicroUsd)} of it is used or reserved.`,
      'Wait until older payments are a day old, or ask the user to raise FAREBOX_MAX_DAY_USD.',
      withLimit(policy.maxDayMicroUsd, spent.dayMicroUsd),
    )
  const waitMs = (spent.lastPaymentAtMs ?? -Infinity) + policy.cooldownMs - nowMs
  if (order.occasion !== 'asked' && waitMs > 0)
    return refusal(
      'cooldown',
      'The wallet has just paid, but the service still asks for money.',
      `Check the credit; the wallet can pay again in ${Math.ceil(waitMs / 1_000)} s.`,
    )
  return null
}

/** Caps may have been lowered below what is already spent. */
const withLimit = (limitMicroUsd: bigint, spentMicroUsd: bigint): RefusedTerms => ({
  limitMicroUsd,
  leftMicroUsd: limitMicroUsd > spentMicroUsd ? limitMicroUsd - spentMicroUsd : 0n,
})

export const overCap = (rule: 'max-payment' | 'max-call', amount: bigint, cap: bigint): Refusal =>
  refusal(
    rule,
    `${displayUsd(amount)} is more than the cap on one ${rule === 'max-call' ? 'call' : 'payment'}, ${displayUsd(cap)}.`,
    `Request less, or ask the user to raise ${rule === 'max-call' ? 'FAREBOX_MAX_CALL_USD' : 'FAREBOX_MAX_PAYMENT_USD'}.`,
    { amountMicroUsd: amount, limitMicroUsd: cap },
  )
