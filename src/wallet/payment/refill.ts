import { displayUsd, type MicroUsd } from '#contract/money.ts'
import { topUp } from '#contract/operations/wallet.ts'
import { dayMs } from '#contract/time.ts'
import * as limits from '../limits.ts'
import { confirmedSince, openPayments, spentOf } from '../records/journal.ts'
import type { Work } from '../records/records.ts'
import {
  awaitedRefill,
  haltRefills,
  leastShown,
  noteRefill,
  type RefillPlace,
  type RefillRow,
  refillRow,
  refillSeen,
  takeRefillTurn,
} from '../records/refill-rows.ts'
import type { Refill } from '../rules/policy.ts'
import { recordRefusal } from '../rules/refusals.ts'
import { isStopped } from '../rules/stop-switch.ts'
import { NeedsApproval } from '../terms/approval.ts'
import type { Offer, Order, SeenCredit } from '../terms/order.ts'
import { isPolicyRule, WalletRefusal } from '../terms/refusal.ts'
import type { PayContext } from './payer.ts'

interface Refilling {
  context: Pick<PayContext, 'records' | 'policy' | 'folder'>
  refill: Refill
  /** The account whose credit was reported. */
  address: string
  seen: SeenCredit
}

/**
 * Buys credit before it runs out, if an answer has reported too little, through the same code as every payment.
 * Anything that prevents a refill is recorded for the wallet's status, and fails no call.
 */
export async function refillCredit(
  refilling: Refilling,
  offers: () => Promise<Offer>,
  pay: (order: Order) => Promise<unknown>,
): Promise<void> {
  const { context, refill, seen } = refilling
  const sentAtMs = await takeTurn(refilling)
  if (sentAtMs === null) return
  try {
    const { origin } = context.policy
    const purpose = `Credit below ${displayUsd(refill.belowMicroUsd)}, automatic refill`
    const order = { origin, ...(await offersOf(offers)), amountMicroUsd: refill.byMicroUsd, purpose }
    await pay({ ...order, occasion: 'refill', seen: { balanceMicroUsd: seen.balanceMicroUsd, sentAtMs } })
  } catch (error) {
    const [note, againMs] = outcomeOf(error)
    await context.records.decide(nowMs => noteRefill(placeOf(refilling), note, nowMs + againMs))
  }
}

async function offersOf(offers: () => Promise<Offer>): Promise<Offer> {
  try {
    return await offers()
  } catch (error) {
    throw error instanceof WalletRefusal ? error : new NoOffers('No offers', { cause: error })
  }
}

const placeOf = ({ context, address }: Refilling): RefillPlace => ({ origin: context.policy.origin, address })

/** What to record about a refill that was not paid, and when to reconsider. */
function outcomeOf(error: unknown): [note: string, againMs: number] {
  if (error instanceof NeedsApproval) return ['It needs the user’s approval.', limits.refillAgainMs]
  if (!(error instanceof WalletRefusal)) return [faultOf(error), limits.refillAgainMs]
  if (error.rule === 'denied') return [error.sentence, dayMs]
  const isDecided = isPolicyRule(error.rule) || error.rule === 'dry-run'
  return [error.sentence, isDecided ? limits.sameRefusalMs : limits.refillAgainMs]
}

/** Thrown if the service's offers could not be fetched; the underlying message may be untrusted. */
class NoOffers extends Error {}

const faultOf = (error: unknown): string =>
  error instanceof NoOffers
    ? 'The payment options of the service could not be fetched.'
    : 'An internal error kept the wallet from paying it.'

/**
 * Most answers need no refill, which is checked without a decision. Of the processes on the journal, one gets the turn.
 * Returns when the answer's request was sent, by the journal's clock; null without the turn.
 */
async function takeTurn(refilling: Refilling): Promise<number | null> {
  const { records } = refilling.context
  if ((await records.read(nowMs => judge(refilling, timesOf(refilling, nowMs)))).kind === 'nothing') return null
  return records.decide(function* (nowMs) {
    // Computed once. Computed again after the statements, it would be earlier by the time that they took. It could then
    // be before the last payment, which would count as this refill.
    const times = timesOf(refilling, nowMs)
    const judged = yield* judge(refilling, times)
    if (judged.kind === 'seen') yield* refillSeen(placeOf(refilling))
    if (judged.kind === 'unseen') yield* halt(refilling, judged, nowMs)
    if (judged.kind === 'due') yield* takeRefillTurn(placeOf(refilling), nowMs + limits.refillAgainMs)
    return judged.kind === 'due' ? times.sentAtMs : null
  })
}

/** By the clock of the journal. */
interface Times {
  nowMs: number
  /** When the answer's request was sent. */
  sentAtMs: number
}

const timesOf = ({ seen }: Refilling, nowMs: number): Times => ({ nowMs, sentAtMs: nowMs - seen.agoMs() })

interface Unseen {
  kind: 'unseen'
  paymentId: string
  amountMicroUsd: MicroUsd
  beforeMicroUsd: MicroUsd
}

type Judged = { kind: 'nothing' | 'seen' | 'due' } | Unseen

/**
 * Decides what to do about the credit that an answer reports. The answer reflects only payments that were made before
 * its request was sent.
 */
function* judge(refilling: Refilling, { nowMs, sentAtMs }: Times): Work<Judged> {
  const { context, refill, address, seen } = refilling
  const { origin, cooldownMs } = context.policy
  const nothing: Judged = { kind: 'nothing' }
  const row = yield* refillRow(placeOf(refilling))
  if (row?.isHalted) return nothing
  if (row?.paymentId) {
    const shown = yield* whetherShown(row, seen, sentAtMs)
    if (shown) return shown
  }
  if (seen.balanceMicroUsd >= refill.belowMicroUsd || (row && row.notBeforeMs > nowMs)) return nothing
  if (yield* isStopped(context.folder)) return nothing
  if ((yield* openPayments([address])).some(payment => payment.origin === origin)) return nothing
  if (yield* confirmedSince(address, origin, sentAtMs)) return nothing
  const { lastPaymentAtMs } = yield* spentOf(nowMs)
  return lastPaymentAtMs !== null && lastPaymentAtMs + cooldownMs > nowMs ? nothing : { kind: 'due' }
}

/**
 * The time of a refill whose credit has not shown up yet; null if it was never sent, so that there is nothing to wait
 * for.
 */
function* whetherShown(row: RefillRow, seen: SeenCredit, sentAtMs: number): Work<Judged | null> {
  const payment = yield* awaitedRefill(row)
  if (!payment || payment.state === 'dead') return null
  const { id, amountMicroUsd, confirmedAtMs } = payment
  if (confirmedAtMs === null || sentAtMs <= confirmedAtMs) return { kind: 'nothing' }
  const least = leastShown(row, payment)
  // One expensive call may have used up what the refill added.
  const { balanceMicroUsd: left, beforeCallMicroUsd: before } = seen
  if (left >= least || (before != null && before >= least)) return { kind: 'seen' }
  return { kind: 'unseen', paymentId: id, amountMicroUsd, beforeMicroUsd: row.beforeMicroUsd }
}

/**
 * Stops refilling: a service that always reports too little would otherwise be paid again and again, up to the caps.
 */
function* halt(refilling: Refilling, unseen: Unseen, nowMs: number): Work<void> {
  const { seen, address } = refilling
  const { origin } = placeOf(refilling)
  const { paymentId, amountMicroUsd, beforeMicroUsd } = unseen
  const sentence = `The refill ${paymentId} of ${displayUsd(amountMicroUsd)} did not show up as credit: ${displayUsd(beforeMicroUsd)} before it, ${displayUsd(seen.balanceMicroUsd)} after it.`
  yield* haltRefills(placeOf(refilling), sentence)
  const refused = { rule: 'refill-unseen', sentence, origin, address, operation: topUp.id } as const
  yield* recordRefusal({ ...refused, terms: { amountMicroUsd: refilling.refill.byMicroUsd } }, nowMs)
}
