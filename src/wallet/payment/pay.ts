import { displayUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import { topUp } from '#contract/operations/wallet.ts'
import { chainName, networkName } from '#contract/wire/networks.ts'
import { ask, hashOfFacts, useApproval } from '../approvals/approvals.ts'
import { balanceAndTime, type SeenOfChain } from '../chains/balance.ts'
import { isPublicMoney, nodesInUse, tokenNamesIn } from '../chains/nodes.ts'
import { newId } from '../ids.ts'
import * as limits from '../limits.ts'
import * as journal from '../records/journal.ts'
import type { Work } from '../records/records.ts'
import { refillPlanned, shownRefill } from '../records/refill-rows.ts'
import { type Decision, decide, type Payable, type Situation } from '../rules/decide.ts'
import { payeesOf } from '../rules/payees.ts'
import type { DecidedCall } from '../rules/refusals.ts'
import { isStopped, refuseWhenStopped } from '../rules/stop-switch.ts'
import { NeedsApproval } from '../terms/approval.ts'
import type { Order, Rail } from '../terms/order.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import { type PayContext, signerOf, withPayer } from './payer.ts'
import type { Send } from './send-payment.ts'
import { finishOpen, followed, settle } from './settle.ts'
import { type TopUpLease, withTopUpLease } from './top-up-lease.ts'

export interface PaidOrder {
  receiptId: string
  amountMicroUsd: MicroUsd
  creditedMicroUsd: MicroUsd
  newBalanceMicroUsd: MicroUsd
  transaction: string | null
  /** Another payment has brought credit meanwhile, so nothing was signed for this order. Check the credit again. */
  isEarlier: boolean
  /** That other payment had been signed before, and was sent again for this order. */
  isResent?: boolean
}

/**
 * The only code that lets money leave the wallet for a service: one payment at a time, an open one first, and a row on
 * disk before each step.
 */
export async function pay(whole: PayContext, order: Order, send: Send): Promise<PaidOrder> {
  const { records, folder } = whole
  await records.read(() => refuseWhenStopped(folder))
  return withTopUpLease(records, whole.pause, async lease => {
    // A dry run signs no payment, so that it can be tried beside a wallet that does.
    if (!whole.policy.dryRun) await whole.noteJournal()
    const money = { ...whole.policy, tokenNames: tokenNamesIn(order.accepts) }
    const nodes = nodesInUse(whole.nodes, money)
    const { key } = await withPayer({ ...whole, nodes }, order)
    const context = { ...whole, key }
    // In a dry run nothing is sent, not even what was signed before it.
    const resent = context.policy.dryRun ? null : await finishOpen(context, lease, send)
    if (resent) return { ...paid(resent, true), isResent: true }
    const earlier = context.policy.dryRun ? null : await recentPayment(context, lease, order)
    if (earlier) return paid(earlier, true)
    const seen = context.policy.dryRun
      ? null
      : await refuseWithoutFunds({ key, nodes }, await decisionOn(context, order))
    const dated = { ...order, chainNowMs: isPublicMoney(money) ? seen?.nowMs : null }
    const sign = await signerOf({ key, nodes })
    const { id, chosen, amountMicroUsd, atMs } = await planPayment(context, lease, dated)
    // Uses the clock of the records: if this machine's clock is ahead, the authorization would outlive its caps.
    const signed = await sign(chosen, amountMicroUsd, atMs)
    const store = function* (nowMs: number): Work<void> {
      yield* lease.check()
      // The stop switch may have been set since the decision. Only a stored payment is sent.
      yield* refuseWhenStopped(folder)
      yield* journal.toSigned(id, signed, nowMs)
    }
    await followed(id, () => records.decide(store))
    return paid(await settle(context, lease, id, send), false)
  })
}

/** The purpose of a payment, for the record of its refusal. */
export const decidedCall = ({ origin, call }: Order, address: string): DecidedCall => ({
  ...{ origin, address, operation: call ? call.operation : topUp.id, about: call?.about },
})

const paid = (payment: journal.Payment, isEarlier: boolean): PaidOrder => ({
  receiptId: payment.id,
  amountMicroUsd: payment.amountMicroUsd,
  creditedMicroUsd: payment.creditedMicroUsd ?? payment.amountMicroUsd,
  newBalanceMicroUsd: payment.balanceMicroUsd ?? payment.amountMicroUsd,
  transaction: payment.transaction,
  isEarlier,
})

/**
 * A 402 may be older than a later payment, so its caller checks the credit again before it pays more. If an answer was
 * lost and the same top-up is requested again, it is paid once.
 */
async function recentPayment({ records, key, policy }: PayContext, lease: TopUpLease, order: Order) {
  if (order.origin !== policy.origin) return null
  if (order.occasion === 'refill')
    return records.read(() => journal.confirmedSince(key.address, policy.origin, order.seen?.sentAtMs ?? 0))
  if (order.occasion === 'asked') {
    const { sameWithinMs, amountMicroUsd } = order
    const same = { address: key.address, origin: policy.origin, amountMicroUsd }
    return sameWithinMs === undefined
      ? null
      : records.read(() => journal.askedSince(same, lease.askedAtMs - sameWithinMs))
  }
  const sinceMs = lease.askedAtMs - Math.min(limits.lookAgainMs, policy.cooldownMs)
  if (!lease.hasWaited && policy.cooldownMs === 0) return null
  return records.read(function* () {
    const passed = yield* passedRefill(key.address, order)
    return yield* journal.confirmedSince(key.address, policy.origin, sinceMs, passed)
  })
}

/** A refill whose credit has shown up was not made for the call that got a 402, so that call need not wait after it. */
function* passedRefill(address: string, { occasion, origin, reportedMicroUsd = null }: Order): Work<string | null> {
  return occasion === 'after-402' ? yield* shownRefill({ origin, address }, reportedMicroUsd) : null
}

/** Includes the chain's time, if known. */
interface DatedOrder extends Order {
  chainNowMs?: (() => number) | null | undefined
}

/** Returns what would be decided now, without writing anything. */
const decisionOn = (context: PayContext, order: Order): Promise<Decision> =>
  context.records.read(function* (nowMs) {
    return decide(context.policy, yield* situationOf(context, order, nowMs), order)
  })

interface Planned extends Payable {
  kind: 'planned'
  id: string
  atMs: number
}

/** Decides and reserves in one transaction, so that two processes cannot spend the same budget twice. */
async function planPayment(context: PayContext, lease: TopUpLease, order: DatedOrder): Promise<Planned> {
  const outcome = await context.records.decide(function* (nowMs) {
    yield* lease.check()
    return yield* planWithin(context, order, nowMs)
  })
  if (outcome instanceof NeedsApproval) throw outcome
  if (outcome.kind === 'refused') throw refusedBy(context, outcome)
  return outcome
}

type Refused = Extract<Decision, { kind: 'refused' }>

const refusedBy = ({ key: { address } }: PayContext, { refusal }: Refused): WalletRefusal =>
  new WalletRefusal({ ...refusal, terms: { address, ...refusal.terms } })

/** The request for approval is returned instead of thrown, because a throw would undo its row. */
function* planWithin(context: PayContext, order: DatedOrder, nowMs: number): Work<Planned | Refused | NeedsApproval> {
  const decision = decide(context.policy, yield* situationOf(context, order, nowMs), order)
  if (decision.kind === 'refused') return decision
  const id = newId('pay')
  if (decision.kind === 'allowed') return yield* reserve(context, order, { id, ...decision, atMs: nowMs })
  const { facts, onceApproved } = decision
  const isApproved = onceApproved !== null && (yield* useApproval(facts, hashOfFacts(facts), id, nowMs))
  if (isApproved) return yield* reserve(context, order, { id, ...onceApproved, atMs: nowMs })
  const call = decidedCall(order, context.key.address)
  return new NeedsApproval(yield* ask(facts, hashOfFacts(facts), nowMs, context.folder, call))
}

function* reserve({ key, policy }: PayContext, order: Order, payable: Omit<Planned, 'kind'>): Work<Planned> {
  const { id, chosen, amountMicroUsd, atMs } = payable
  if (policy.dryRun) throw dryRun(payable)
  const purpose = order.purpose.slice(0, limits.maxPurposeLength)
  const planned = { id, order: { ...order, purpose }, payee: chosen.payee, address: key.address, amountMicroUsd }
  yield* journal.plan(planned, atMs)
  if (order.seen) yield* refillPlanned({ origin: policy.origin, address: key.address }, id, order.seen)
  return { ...payable, kind: 'planned' }
}

const dryRun = ({ amountMicroUsd, chosen }: Payable): WalletRefusal =>
  new WalletRefusal({
    rule: 'dry-run',
    sentence: `Dry run: ${displayUsd(amountMicroUsd)} would have been paid to ${chosen.payee.payTo} on ${networkName(chosen.payee.network)}.`,
    nextStep: 'Unset FAREBOX_DRY_RUN to pay.',
  })

function* situationOf({ folder, policy, key }: PayContext, order: DatedOrder, nowMs: number): Work<Situation> {
  const { serviceNowMs, chainNowMs } = order
  return {
    nowMs,
    spent: yield* journal.spentOf(nowMs, yield* passedRefill(key.address, order)),
    approvedPayees: yield* payeesOf(policy.origin),
    isStopped: yield* isStopped(folder),
    payer: key.address,
    otherClocks: [
      ...(serviceNowMs ? [{ whose: 'service', atMs: serviceNowMs() } as const] : []),
      ...(chainNowMs ? [{ whose: 'chain', atMs: chainNowMs() } as const] : []),
    ],
  }
}

interface Wanted {
  rail: Rail
  amountMicroUsd: MicroUsd
}

/**
 * Refuses an amount that the paying address does not hold, before anything is signed or reserved and before the user is
 * asked: the service could only refuse it, and the amount would stay reserved until it can no longer be collected. If
 * no node answers, nothing is refused. Returns what the chain reported.
 */
async function refuseWithoutFunds(
  { key, nodes }: Pick<PayContext, 'key' | 'nodes'>,
  decision: Decision,
): Promise<SeenOfChain | null> {
  const wanted = wantedBy(decision)
  if (!wanted) return null
  const { rail, amountMicroUsd } = wanted
  const seen = await balanceAndTime(nodes, rail, key.address)
  const held = seen.balance
  if (held === null || held >= amountMicroUsd) return seen
  throw new WalletRefusal({
    rule: 'funds',
    sentence: `The wallet holds ${usdc(microUsd(held))} USDC.`,
    nextStep: `Send at least ${least(microUsd(amountMicroUsd - held))} to ${key.address} on ${chainName(rail.network)}.`,
    terms: { network: rail.network, asset: rail.asset, amountMicroUsd, leftMicroUsd: held },
  })
}

/** With cents, and more decimals if needed. */
const usdc = (amount: bigint): string => displayUsd(amount).replace(/ USD$/, '')

/** Formats the amount as the user types it. */
const least = (amount: bigint): string => usdc(amount).replace(/\.00$/, '')

/** A payment that is refused for another reason reports that reason. */
function wantedBy(decision: Decision): Wanted | null {
  if (decision.kind === 'refused') return null
  if (decision.kind === 'allowed') return payable(decision)
  if (decision.onceApproved) return payable(decision.onceApproved)
  const { facts } = decision
  return facts.kind === 'payee' ? { rail: facts, amountMicroUsd: facts.amountMicroUsd } : null
}

const payable = ({
  chosen,
  amountMicroUsd,
}: NonNullable<Extract<Decision, { kind: 'needs_approval' }>['onceApproved']>): Wanted => ({
  rail: chosen.payee,
  amountMicroUsd,
})
