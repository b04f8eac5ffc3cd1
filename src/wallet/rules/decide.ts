import { displayUsd, type MicroUsd } from '#contract/money.ts'
import { minuteMs } from '#contract/time.ts'
import { networkName, smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { clockSkewMs } from '../limits.ts'
import type { AskedAbout } from '../terms/about-call.ts'
import type { ApprovalFacts } from '../terms/approval.ts'
import type { ChosenOffer, Order, Payee, Spent } from '../terms/order.ts'
import type { Refusal, RefusedTerms, Rule } from '../terms/refusal.ts'
import { chooseOffer } from './choose-offer.ts'
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

const refusal = (rule: Rule, sentence: string, nextStep: string, terms: RefusedTerms = {}): Refusal => ({
  ...{ rule, sentence, nextStep, terms },
})

/** Returns the cap of the wallet that a payment would exceed; null if it is within all of them. */
function beyondCap(policy: Policy, situation: Situation, order: Order, amount: MicroUsd): Refusal | null {
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
      'The wallet has just paid, but the service still requires payment.',
      `Check the credit; the wallet can pay again in ${Math.ceil(waitMs / 1_000)} s.`,
    )
  return null
}

/** Caps may have been lowered below what is already spent. */
const withLimit = (limitMicroUsd: bigint, spentMicroUsd: bigint): RefusedTerms => ({
  limitMicroUsd,
  leftMicroUsd: limitMicroUsd > spentMicroUsd ? limitMicroUsd - spentMicroUsd : 0n,
})

const overCap = (rule: 'max-payment' | 'max-call', amount: bigint, cap: bigint): Refusal =>
  refusal(
    rule,
    `${displayUsd(amount)} is more than the cap on one ${rule === 'max-call' ? 'call' : 'payment'}, ${displayUsd(cap)}.`,
    `Request less, or ask the user to raise ${rule === 'max-call' ? 'FAREBOX_MAX_CALL_USD' : 'FAREBOX_MAX_PAYMENT_USD'}.`,
    { amountMicroUsd: amount, limitMicroUsd: cap },
  )

export interface Payable {
  amountMicroUsd: MicroUsd
  chosen: ChosenOffer
}

export type Decision =
  | ({ kind: 'allowed' } & Payable)
  | { kind: 'refused'; refusal: Refusal }
  /** `onceApproved` is paid if the user has approved exactly these facts; a new payee is decided again. */
  | { kind: 'needs_approval'; facts: ApprovalFacts; onceApproved: Payable | null }

/** Decides whether an order is paid, and with how much. Pure: the same input gives the same decision. */
export function decide(policy: Policy, situation: Situation, order: Order): Decision {
  const before = whetherAtAll(policy, situation, order)
  if (before) return refused(before)
  const amountMicroUsd = amountOf(order)
  const terms = { policy, amount: amountMicroUsd, payer: situation.payer }
  const choice = chooseOffer(terms, order, [...policy.payees, ...situation.approvedPayees])
  if (choice.kind === 'refused') return choice
  const beyond = beyondCap(policy, situation, order, amountMicroUsd)
  if (beyond) return refused(beyond)
  const { chosen } = choice
  if (!chosen.isKnownPayee)
    return { kind: 'needs_approval', facts: { kind: 'payee', ...chosen.payee, amountMicroUsd }, onceApproved: null }
  const because = whyTopUpIsAsked(policy, situation, order, amountMicroUsd)
  return because !== null
    ? {
        kind: 'needs_approval',
        facts: topUpFacts({ policy, amountMicroUsd, because }, order.occasion, chosen),
        onceApproved: { amountMicroUsd, chosen },
      }
    : { kind: 'allowed', amountMicroUsd, chosen }
}

/** After a 402 the missing amount, but at least the service's minimum of 5 USD, whatever larger amount it suggests. */
export const amountOf = ({ occasion, amountMicroUsd }: Order): MicroUsd =>
  occasion === 'after-402' && amountMicroUsd < smallestTopUpMicroUsd ? smallestTopUpMicroUsd : amountMicroUsd

/** Returns why the user must approve the payment; null if the wallet may pay without asking. */
function whyTopUpIsAsked(
  { asksFirstTopUp, askAboveMicroUsd }: Policy,
  { spent }: Situation,
  { occasion }: Order,
  amountMicroUsd: MicroUsd,
): string | null {
  if (asksFirstTopUp && spent.totalMicroUsd === 0n)
    return 'It is the first payment of this wallet, which was created in a conversation; later ones are made within the caps after a 402.'
  return occasion !== 'after-402' && amountMicroUsd > askAboveMicroUsd
    ? `It is more than ${displayUsd(askAboveMicroUsd)}, and no call needed it; amounts above that need approval.`
    : null
}

const topUpFacts = (
  { policy, amountMicroUsd, because }: { policy: Policy; amountMicroUsd: MicroUsd; because: string },
  occasion: Order['occasion'],
  { payee }: ChosenOffer,
): ApprovalFacts => ({
  kind: 'spend',
  what: `A ${occasion === 'refill' ? 'refill' : 'top-up'} of ${displayUsd(amountMicroUsd)} at ${policy.origin}, paid to ${payee.payTo} on ${networkName(payee.network)}.`,
  amountMicroUsd,
  because,
})

const refused = (refusal: Refusal): Decision => ({ kind: 'refused', refusal })

function whetherAtAll(policy: Policy, situation: Situation, order: Order): Refusal | null {
  if (situation.isStopped) return stopped
  if (order.origin !== policy.origin)
    return refusal(
      'origin',
      `The wallet pays only ${policy.origin}, and this payment is for another address.`,
      'Nothing was signed; check the address of the service in the configuration.',
    )
  if (order.amountMicroUsd <= 0n)
    return refusal('order', 'A payment must be more than 0 USD.', 'Give an amount of at least 5 USD.')
  if (order.occasion === 'asked' && order.amountMicroUsd < smallestTopUpMicroUsd)
    return refusal(
      'minimum',
      `A top-up is at least ${displayUsd(smallestTopUpMicroUsd)}.`,
      `Request ${displayUsd(smallestTopUpMicroUsd)} or more.`,
    )
  return wrongClock(situation)
}

/** With a wrong clock, a payment would be valid for hours, and the daily cap would start again. */
export function wrongClock({ nowMs, otherClocks = [] }: Pick<Situation, 'nowMs' | 'otherClocks'>): Refusal | null {
  const other = otherClocks.find(({ atMs }) => Math.abs(atMs - nowMs) > clockSkewMs)
  if (!other) return null
  const [ours, theirs] = [new Date(nowMs), new Date(other.atMs)].map(time => time.toISOString().slice(0, 19))
  return refusal(
    'clock',
    `The wallet's clock says ${ours} UTC and the ${other.whose}'s says ${theirs} UTC; if they differ by more than ${clockSkewMs / minuteMs} minutes, nothing is signed.`,
    'Set the clock of this machine, or of the database that holds the journal, then try again.',
  )
}

export const stopped: Refusal = refusal(
  'stopped',
  'The wallet is stopped.',
  'The user can start it with `farebox wallet start`, or by removing the file `stop` from the data folder.',
)

/** A call that would be charged; `quotedMicroUsd` is null if its price is unknown in advance. */
export interface PlannedCall {
  what: string
  quotedMicroUsd: MicroUsd | null
  /** Id of the operation; for the record of a refusal. */
  operation?: string | null
  /** The same call was sent before, and may still be charged. */
  mayBeSecond?: boolean
  /** For the user who decides on it. */
  about?: AskedAbout | undefined
}

export type CallDecision =
  | { kind: 'allowed' }
  | { kind: 'refused'; refusal: Refusal }
  | { kind: 'needs_approval'; facts: ApprovalFacts }

/**
 * Decides whether a call may be made. Within the cap it may; above the threshold for approval, or without a known
 * price, the user decides.
 */
export function decideCall(policy: Policy, situation: Pick<Situation, 'isStopped'>, call: PlannedCall): CallDecision {
  const { quotedMicroUsd: amountMicroUsd } = call
  if (situation.isStopped) return { kind: 'refused', refusal: stopped }
  if (amountMicroUsd !== null && amountMicroUsd > policy.maxCallMicroUsd)
    return { kind: 'refused', refusal: overCap('max-call', amountMicroUsd, policy.maxCallMicroUsd) }
  const because = whyAsked(policy, call)
  if (because === null) return { kind: 'allowed' }
  return { kind: 'needs_approval', facts: { kind: 'spend', what: call.what, amountMicroUsd, because } }
}

/** Returns null if it needs no approval. */
function whyAsked({ askAboveMicroUsd }: Policy, { quotedMicroUsd, mayBeSecond = false }: PlannedCall): string | null {
  if (mayBeSecond) return 'The call was sent before and its answer was lost, so the service may charge for both.'
  if (quotedMicroUsd === null) return 'Its price is unknown, so the cap on a call cannot limit it.'
  return quotedMicroUsd > askAboveMicroUsd
    ? `It may cost more than ${displayUsd(askAboveMicroUsd)}, and amounts above that need approval.`
    : null
}
