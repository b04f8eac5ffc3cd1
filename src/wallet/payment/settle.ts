import { lowered } from '#contract/errors/as-clause.ts'
import { displayUsd } from '#contract/money.ts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { networkName } from '#contract/wire/networks.ts'
import { giveBackApproval } from '../approvals/approvals.ts'
import { evmEnd } from '../chains/evm.ts'
import { nodesInUse } from '../chains/nodes.ts'
import { type ChainEnd, solanaEnd } from '../chains/solana.ts'
import * as limits from '../limits.ts'
import { deadMarginMs } from '../limits.ts'
import * as journal from '../records/journal.ts'
import type { Work } from '../records/records.ts'
import { defaultRails, namespaceOf, railOf } from '../rules/policy.ts'
import { refuseWhenStopped } from '../rules/stop-switch.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { PayContext } from './payer.ts'
import { isPending, type Send, type SendOutcome, sendOnce } from './send-payment.ts'
import { type TopUpLease, withTopUpLease } from './top-up-lease.ts'

/** Sends a signed payment until it is answered. If it stays open, throws a refusal, and nothing else is signed. */
export async function settle(context: PayContext, lease: TopUpLease, id: string, send: Send): Promise<journal.Payment> {
  const payment = await sendUntilAnswered(context, lease, id, send)
  if (payment.state === 'confirmed') return payment
  throw stillOpen(payment, context)
}

/**
 * Sends all pending payments to this service again. Returns the last one that was credited; null if none is pending any
 * more.
 */
export async function finishOpen(context: PayContext, lease: TopUpLease, send: Send): Promise<journal.Payment | null> {
  await dropPlanned(context, lease)
  let credited: journal.Payment | null = null
  for (const { id } of await openHere(context)) {
    const payment = await sendUntilAnswered(context, lease, id, send)
    if (payment.state === 'confirmed') credited = payment
    else if (!(await buryRejected(context, lease, payment))) throw stillOpen(payment, context)
  }
  return credited
}

/** Returns open payments to the policy's service. Those to a previously configured service are not sent to this one. */
async function openHere({ records, keys, policy }: PayContext): Promise<journal.Payment[]> {
  const open = await records.read(() => journal.openPayments(addressesOf(keys)))
  return open.filter(payment => payment.origin === policy.origin).slice(0, limits.maxRecovered)
}

/** This process holds the lease, so no other process can still sign a payment that is only planned. */
const dropPlanned = ({ records, keys }: PayContext, lease: TopUpLease): Promise<void> =>
  records.decide(function* (nowMs) {
    yield* lease.check()
    for (const payment of yield* journal.openPayments(addressesOf(keys))) {
      if (payment.state !== 'planned') continue
      yield* journal.toDead(payment.id, 'never signed', false, nowMs)
      yield* giveBackApproval(payment.id)
    }
  })

const addressesOf = (keys: PayContext['keys']): string[] => keys.map(key => key.address)

/** Its row is recorded outside the data folder first, so that an older copy cannot be mistaken for the journal. */
function sendUntilAnswered(
  { records, folder, pause, noteJournal }: PayContext,
  lease: TopUpLease,
  id: string,
  send: Send,
): Promise<journal.Payment> {
  return followed(id, async () => {
    await noteJournal().catch(error => {
      throw error instanceof WalletRefusal && error.rule !== 'journal-away' ? notSent(id, error) : error
    })
    const startedAtMs = performance.now()
    for (let attempt = 0; ; attempt++) {
      const { payload, address } = await records.decide(function* (nowMs) {
        yield* lease.check()
        yield* refuseWhenStopped(folder)
        yield* journal.toSent(id, nowMs)
        return { payload: yield* journal.payloadOf(id), address: (yield* journal.paymentOf(id)).address }
      })
      const outcome = await sendOnce(send, payload, address)
      const payment = await records.decide(nowMs => record(id, outcome, nowMs))
      const pauseMs = pauseAfter(outcome, attempt, performance.now() - startedAtMs)
      if (pauseMs === null) return payment
      await pause(pauseMs)
    }
  })
}

/** Null if the payment is not sent again for now. */
function pauseAfter(outcome: SendOutcome, attempt: number, passedMs: number): number | null {
  if (outcome.kind !== 'unknown') return null
  if (!isPending(outcome.reason)) return limits.sendPausesMs[attempt] ?? null
  const pauseMs = limits.pendingPausesMs[attempt] ?? null
  return pauseMs === null || passedMs + pauseMs > limits.pendingMs ? null : pauseMs
}

const notSent = (id: string, { sentence, nextStep }: WalletRefusal): WalletRefusal =>
  new WalletRefusal({
    rule: 'payment-open',
    sentence: `The payment ${id} is signed but was not sent: ${lowered(sentence)}`,
    nextStep,
  })

/** Once a payment is signed, an unreachable journal means that its outcome is unknown, not that nothing was signed. */
export async function followed<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof WalletRefusal) || error.rule !== 'journal-away') throw error
    throw new WalletRefusal({
      rule: 'outcome-unknown',
      sentence: `The payment ${id} was signed, but the journal became unreachable before the outcome was recorded.`,
      nextStep: 'Try again when the journal is back: the same payment is sent again, never a second one.',
    })
  }
}

/** An answer is recorded even if the lease was lost meanwhile: credited is credited. */
function* record(id: string, outcome: SendOutcome, nowMs: number): Work<journal.Payment> {
  const { state } = yield* journal.paymentOf(id)
  if (outcome.kind === 'credited' && state !== 'confirmed') yield* journal.toConfirmed(id, outcome.confirmation, nowMs)
  else if (outcome.kind !== 'credited' && state === 'sent')
    yield* journal.toUnknown(id, outcome.reason, outcome.kind === 'rejected', nowMs)
  return yield* journal.paymentOf(id)
}

/**
 * The service still refuses a payment whose authorization has long expired, so another payment may be considered. If
 * the owner's own node also reports that the chain can never take it, the amount is free again. If only the service
 * says so, the amount counts against the caps until the user has checked the chain.
 */
async function buryRejected(context: PayContext, lease: TopUpLease, payment: journal.Payment): Promise<boolean> {
  if (!payment.isRejected) return false
  const end = await endOf(context, payment)
  return context.records.decide(function* (nowMs) {
    const isDone = end ? end.kind !== 'open' : isOver(payment, nowMs, limits.deadMarginWithoutChainMs)
    if (!isDone) return false
    yield* lease.check()
    const isFree = end?.kind === 'never' && isInHistory(payment, nowMs)
    yield* journal.toDead(payment.id, payment.reason ?? 'rejected', !isFree, nowMs)
    return true
  })
}

/**
 * A Solana node answers from its list of transactions, which may not reach back far enough; a token's contract never
 * forgets a nonce.
 */
const isInHistory = ({ address, createdAtMs }: journal.Payment, nowMs: number): boolean =>
  namespaceOf(address) === 'eip155' || nowMs < createdAtMs + limits.nodeHistoryMs

/**
 * Uses the chain if it can be reached. Without a Solana node a payment there cannot end, because no clock decides it.
 */
async function endOf({ nodes, records, policy }: PayContext, payment: journal.Payment): Promise<ChainEnd | null> {
  const { origin } = payment
  const { rails } = policy
  if (namespaceOf(payment.address) === 'eip155') {
    const name = tokenNameIn(await records.read(() => journal.payloadOf(payment.id)))
    return evmEnd(nodesInUse(nodes, { origin, rails, tokenNames: [name] }), payment, name)
  }
  return solanaEnd(nodesInUse(nodes, { origin, rails, tokenNames: [] }), payment).catch(error => {
    if (error instanceof WalletRefusal) return { kind: 'open' }
    throw error
  })
}

/** Whether the chain would no longer take the payment, with a margin for clocks and late blocks. */
const isOver = ({ validBeforeMs }: journal.Payment, nowMs: number, marginMs: number): boolean =>
  validBeforeMs !== null && nowMs > validBeforeMs + marginMs

function stillOpen(payment: journal.Payment, context: Pick<PayContext, 'keys' | 'policy'>): WalletRefusal {
  const amount = displayUsd(payment.amountMicroUsd)
  const until = payment.validBeforeMs === null ? 'then' : new Date(payment.validBeforeMs).toISOString()
  if (payment.isRejected && /\binsufficient_funds$/.test(payment.reason ?? ''))
    return noFunds(payment, until, otherPlaces(payment, context))
  if (payment.isRejected)
    return new WalletRefusal({
      rule: 'payment-rejected',
      sentence: `The service refused the payment ${payment.id} of ${amount} (${payment.reason ?? 'no reason'}); its amount stays reserved, because the payment could still be collected until ${until}.`,
      nextStep:
        'Check whether the wallet has enough USDC, then try again: the same payment is sent, never a second one.',
    })
  return new WalletRefusal({
    rule: payment.sends > limits.sendAttempts ? 'payment-open' : 'outcome-unknown',
    sentence: isPending(payment.reason)
      ? `The service has the payment ${payment.id} of ${amount}, and its chain has not confirmed it yet.`
      : `It is unknown whether the payment ${payment.id} of ${amount} arrived (${payment.reason ?? 'no answer'}).`,
    nextStep: `Try again in a minute: the same payment is sent again, never a second one. After ${until} the user can run \`farebox wallet resolve ${payment.id}\`.`,
  })
}

/** The refusal that an empty wallet gets on its first call: nothing is lost, only money is missing. */
function noFunds(
  { id, amountMicroUsd, address, network }: journal.Payment,
  until: string,
  others: readonly Place[],
): WalletRefusal {
  const amount = displayUsd(amountMicroUsd)
  return new WalletRefusal({
    rule: 'payment-rejected',
    sentence: `The service refused the payment ${id} of ${amount}, because ${address} on ${networkName(network)} has too little USDC; the amount stays reserved, because the payment could still be collected until ${until}.`,
    nextStep: `Send at least ${amount} in USDC to ${address}, then try again: the same payment is sent, never a second one.${others.map(elsewhere).join('')}`,
  })
}

interface Place {
  address: string
  network: string
}

const otherPlaces = ({ address }: journal.Payment, { keys, policy }: Pick<PayContext, 'keys' | 'policy'>): Place[] =>
  keys.flatMap(key => {
    const rail = key.address === address ? null : railOf(policy, key.address)
    return rail ? [{ address: key.address, network: rail.network }] : []
  })

/** Without a node, the wallet cannot see which of its addresses has the money. */
const elsewhere = ({ address, network }: Place): string =>
  ` If the USDC is at ${address} on ${networkName(network)}, pay from there: set nodes for both chains in FAREBOX_EVM_RPC_URL and FAREBOX_SOLANA_RPC_URL, or set "networks": ["${network}"] in policy.json.`

/** Returns the name of the token that a payment was signed for; null for one on Solana. */
function tokenNameIn(header: string): string | null {
  const name = paymentSignature.parse(header)?.accepted?.extra?.name
  return typeof name === 'string' ? name : null
}

/**
 * Drops planned payments, sends signed ones again, and gives up those that were refused and have expired. In a dry run
 * nothing is sent.
 */
export async function recover(context: PayContext, send: Send): Promise<journal.Payment[]> {
  if (context.policy.dryRun) return []
  return withTopUpLease(context.records, context.pause, async lease => {
    await context.noteJournal()
    await dropPlanned(context, lease)
    const recovered: journal.Payment[] = []
    for (const { id } of await openHere(context)) {
      const payment = await sendUntilAnswered(context, lease, id, send)
      if (payment.state !== 'confirmed') await buryRejected(context, lease, payment)
      recovered.push(await context.records.read(() => journal.paymentOf(id)))
    }
    return recovered
  })
}

/** Records what the user found on the chain: whether an open payment, or one that was given up, has left the wallet. */
export async function resolvePayment(
  { records, nodes }: Pick<PayContext, 'records' | 'nodes'>,
  id: string,
  hasLeft: boolean,
  by: string,
): Promise<journal.Payment> {
  const known = await records.read(() => resolvable(id))
  const end = await solanaEnd(nodesInUse(nodes, { origin: known.origin, rails: defaultRails, tokenNames: [] }), known)
  if (end?.kind === 'taken' && !hasLeft)
    throw refusal(
      `The chain has the payment ${id}${end.transaction === null ? '' : ` as ${end.transaction}`}.`,
      'So the money has left the wallet. Run the command again and type left.',
    )
  return records.decide(function* (nowMs) {
    const payment = yield* resolvable(id)
    const isDone = end ? end.kind !== 'open' : isOver(payment, nowMs, deadMarginMs)
    if (!isDone)
      throw refusal(`The payment ${id} could still be collected.`, 'Wait until its authorization has expired.')
    yield* journal.toResolved(id, hasLeft, by, nowMs)
    return yield* journal.paymentOf(id)
  })
}

function* resolvable(id: string): Work<journal.Payment> {
  const payment = yield* journal.findPayment(id)
  if (!payment) throw refusal('There is no such payment.', 'Check `farebox wallet receipts`.')
  if (payment.state === 'dead' || payment.state === 'unknown') return payment
  throw refusal(`The payment ${id} is ${payment.state}.`, 'Only a payment with an unknown outcome can be resolved.')
}

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'not-found', sentence, nextStep })
