import { displayUsd } from '#contract/money.ts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { giveBackApproval } from '../approvals/approvals.ts'
import { nodesInUse } from '../chains/chain-nodes.ts'
import { evmEnd } from '../chains/evm-end.ts'
import { type ChainEnd, solanaEnd } from '../chains/solana-end.ts'
import * as limits from '../limits.ts'
import * as journal from '../records/journal.ts'
import type { Work } from '../records/work.ts'
import { namespaceOf } from '../rules/policy.ts'
import { refuseWhenStopped } from '../rules/stop-switch.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import { type Send, type SendOutcome, sendOnce } from './send-payment.ts'
import type { Till } from './till.ts'
import type { TopUpLease } from './top-up-lease.ts'

/** Sends a signed payment until it is answered; where it stays open, the refusal says so and nothing else is signed. */
export async function settle(till: Till, lease: TopUpLease, id: string, send: Send): Promise<journal.Payment> {
  const payment = await sendUntilAnswered(till, lease, id, send)
  if (payment.state === 'confirmed') return payment
  throw stillOpen(payment)
}

/** Sends all open payments of this service again. The last one that was credited; null where none is open any more. */
export async function finishOpen(till: Till, lease: TopUpLease, send: Send): Promise<journal.Payment | null> {
  await dropPlanned(till, lease)
  let credited: journal.Payment | null = null
  for (const { id } of await openHere(till)) {
    const payment = await sendUntilAnswered(till, lease, id, send)
    if (payment.state === 'confirmed') credited = payment
    else if (!(await buryRejected(till, lease, payment))) throw stillOpen(payment)
  }
  return credited
}

/** Open payments to the service of the policy. One to a service that was configured before is none of this one's bytes. */
export async function openHere({ records, keys, policy }: Till): Promise<journal.Payment[]> {
  const open = await records.read(() => journal.openPayments(addressesOf(keys)))
  return open.filter(payment => payment.origin === policy.origin).slice(0, limits.maxRecovered)
}

/** Whoever holds the lease knows that nobody is left who could sign what is only planned. */
export const dropPlanned = ({ records, keys }: Till, lease: TopUpLease): Promise<void> =>
  records.decide(function* (nowMs) {
    yield* lease.check()
    for (const payment of yield* journal.openPayments(addressesOf(keys))) {
      if (payment.state !== 'planned') continue
      yield* journal.toDead(payment.id, 'never signed', false, nowMs)
      yield* giveBackApproval(payment.id)
    }
  })

const addressesOf = (keys: Till['keys']): string[] => keys.map(key => key.address)

/** Its row is noted outside of the data folder first, so that no copy from before it can be taken for the journal. */
export function sendUntilAnswered(
  { records, folder, pause, noteJournal }: Till,
  lease: TopUpLease,
  id: string,
  send: Send,
): Promise<journal.Payment> {
  return followed(id, async () => {
    await noteJournal().catch(error => {
      throw error instanceof WalletRefusal && error.rule !== 'journal-away' ? notSent(id, error) : error
    })
    for (let attempt = 0; ; attempt++) {
      const { payload, address } = await records.decide(function* (nowMs) {
        yield* lease.check()
        yield* refuseWhenStopped(folder)
        yield* journal.toSent(id, nowMs)
        return { payload: yield* journal.payloadOf(id), address: (yield* journal.paymentOf(id)).address }
      })
      const outcome = await sendOnce(send, payload, address)
      const payment = await records.decide(nowMs => record(id, outcome, nowMs))
      const pauseMs = limits.sendPausesMs[attempt]
      if (outcome.kind !== 'unknown' || pauseMs === undefined) return payment
      await pause(pauseMs)
    }
  })
}

const notSent = (id: string, { sentence, nextStep }: WalletRefusal): WalletRefusal =>
  new WalletRefusal({
    rule: 'payment-open',
    sentence: `The payment ${id} is signed and was not sent: ${sentence}`,
    nextStep,
  })

/** Once a payment is signed, a journal that goes away means that nobody knows its end, and not that nothing was signed. */
export async function followed<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof WalletRefusal) || error.rule !== 'journal-away') throw error
    throw new WalletRefusal({
      rule: 'outcome-unknown',
      sentence: `The payment ${id} was signed, and the journal went away before its end was written down.`,
      nextStep: 'Try again once the journal is back: the same payment is sent again, never a second one.',
    })
  }
}

/** An answer is recorded even where the lease was lost meanwhile: what was credited is credited. */
function* record(id: string, outcome: SendOutcome, nowMs: number): Work<journal.Payment> {
  const { state } = yield* journal.paymentOf(id)
  if (outcome.kind === 'credited' && state !== 'confirmed') yield* journal.toConfirmed(id, outcome.confirmation, nowMs)
  else if (outcome.kind !== 'credited' && state === 'sent')
    yield* journal.toUnknown(id, outcome.reason, outcome.kind === 'rejected', nowMs)
  return yield* journal.paymentOf(id)
}

/**
 * The service still says no when the authorisation is long over: another payment may be thought of. Where the owner's own
 * node says as well that the chain can never take it, the amount is free again; where the service alone says that it took
 * nothing, it keeps counting against the caps until a person has looked at the chain.
 */
export async function buryRejected(till: Till, lease: TopUpLease, payment: journal.Payment): Promise<boolean> {
  if (!payment.isRejected) return false
  const end = await endOf(till, payment)
  return till.records.decide(function* (nowMs) {
    const isDone = end ? end.kind !== 'open' : isOver(payment, nowMs, limits.deadMarginWithoutChainMs)
    if (!isDone) return false
    yield* lease.check()
    const isFree = end?.kind === 'never' && isInHistory(payment, nowMs)
    yield* journal.toDead(payment.id, payment.reason ?? 'rejected', !isFree, nowMs)
    return true
  })
}

/** On Solana a node tells by what it lists, which need not go back for ever; a token's contract forgets no nonce. */
const isInHistory = ({ address, createdAtMs }: journal.Payment, nowMs: number): boolean =>
  namespaceOf(address) === 'eip155' || nowMs < createdAtMs + limits.nodeHistoryMs

/** By the chain where that tells; a node of Solana that cannot be asked ends nothing, because no clock does there. */
async function endOf({ nodes, records, policy }: Till, payment: journal.Payment): Promise<ChainEnd | null> {
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

/** Whether the chain would take the payment no more, with a margin for clocks and late blocks. */
export const isOver = ({ validBeforeMs }: journal.Payment, nowMs: number, marginMs: number): boolean =>
  validBeforeMs !== null && nowMs > validBeforeMs + marginMs

export function stillOpen(payment: journal.Payment): WalletRefusal {
  const amount = displayUsd(payment.amountMicroUsd)
  const until = payment.validBeforeMs === null ? 'then' : new Date(payment.validBeforeMs).toISOString()
  if (payment.isRejected && /\binsufficient_funds$/.test(payment.reason ?? '')) return noFunds(payment, until)
  if (payment.isRejected)
    return new WalletRefusal({
      rule: 'payment-rejected',
      sentence: `The service refused the payment ${payment.id} of ${amount} (${payment.reason ?? 'no reason'}); it stays reserved, because it could still be collected until ${until}.`,
      nextStep:
        'Look at whether the wallet holds enough USDC, then try again: the same payment is sent, never a second one.',
    })
  return new WalletRefusal({
    rule: payment.sends > limits.sendAttempts ? 'payment-open' : 'outcome-unknown',
    sentence: `Whether the payment ${payment.id} of ${amount} arrived is unknown (${payment.reason ?? 'no answer'}).`,
    nextStep: `Try again in a minute: the same payment is sent again, never a second one. After ${until} its owner can run \`farebox wallet resolve ${payment.id}\`.`,
  })
}

/** As an empty wallet meets it at its first call: nothing is lost, and what is missing is money. */
function noFunds({ id, amountMicroUsd, address, network }: journal.Payment, until: string): WalletRefusal {
  const amount = displayUsd(amountMicroUsd)
  return new WalletRefusal({
    rule: 'payment-rejected',
    sentence: `The service refused the payment ${id} of ${amount}, because the wallet holds too little USDC; it stays reserved, because it could still be collected until ${until}.`,
    nextStep: `Send at least ${amount} in USDC to ${address} on ${network}, then try again: the same payment is sent, never a second one.`,
  })
}

/** What the token is called that a payment was signed for; null of one on Solana. */
function tokenNameIn(header: string): string | null {
  const name = paymentSignature.parse(header)?.accepted?.extra?.name
  return typeof name === 'string' ? name : null
}
