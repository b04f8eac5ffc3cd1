import { displayUsd } from '#contract/money.ts'
import { giveBackApproval } from './approvals.ts'
import * as journal from './journal.ts'
import * as limits from './limits.ts'
import { WalletRefusal } from './refusal.ts'
import { type Send, type SendOutcome, sendOnce } from './send-payment.ts'
import { refuseWhenStopped } from './stop-file.ts'
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
  dropPlanned(till, lease)
  let credited: journal.Payment | null = null
  for (const { id } of openHere(till)) {
    const payment = await sendUntilAnswered(till, lease, id, send)
    if (payment.state === 'confirmed') credited = payment
    else if (!buryRejected(till, lease, payment)) throw stillOpen(payment)
  }
  return credited
}

/** Open payments to the service of the policy. One to a service that was configured before is none of this one's bytes. */
export const openHere = ({ state, key, policy }: Till): journal.Payment[] =>
  journal
    .openPayments(state.database(), key.address)
    .filter(payment => payment.origin === policy.origin)
    .slice(0, limits.maxRecovered)

/** Whoever holds the lease knows that nobody is left who could sign what is only planned. */
export function dropPlanned({ state, key, clock }: Till, lease: TopUpLease): void {
  state.decide(db => {
    lease.check(db)
    for (const payment of journal.openPayments(db, key.address)) {
      if (payment.state !== 'planned') continue
      journal.toDead(db, payment.id, 'never signed', false, clock.now())
      giveBackApproval(db, payment.id)
    }
  })
}

export async function sendUntilAnswered(
  till: Till,
  lease: TopUpLease,
  id: string,
  send: Send,
): Promise<journal.Payment> {
  const { state, clock, key } = till
  for (let attempt = 0; ; attempt++) {
    const payload = state.decide(db => {
      lease.check(db)
      refuseWhenStopped(state.folder)
      journal.toSent(db, id, clock.now())
      return journal.payloadOf(db, id)
    })
    const outcome = await sendOnce(send, payload, key.address)
    const payment = state.decide(db => record(db, id, outcome, clock.now()))
    const pauseMs = limits.sendPausesMs[attempt]
    if (outcome.kind !== 'unknown' || pauseMs === undefined) return payment
    await till.pause(pauseMs)
  }
}

/** An answer is recorded even where the lease was lost meanwhile: what was credited is credited. */
function record(db: Parameters<typeof journal.toSent>[0], id: string, outcome: SendOutcome, nowMs: number) {
  const before = journal.paymentOf(db, id)
  if (outcome.kind === 'credited' && before.state !== 'confirmed')
    journal.toConfirmed(db, id, outcome.confirmation, nowMs)
  else if (outcome.kind !== 'credited' && before.state === 'sent')
    journal.toUnknown(db, id, outcome.reason, outcome.kind === 'rejected', nowMs)
  return journal.paymentOf(db, id)
}

/**
 * The service still says no when the authorisation is long over: another payment may be thought of. It keeps counting
 * against the caps, because the service alone says that it took nothing; a person who has looked at the chain releases it.
 */
export function buryRejected({ state, clock }: Till, lease: TopUpLease, payment: journal.Payment): boolean {
  if (!payment.isRejected || !isOver(payment, clock.now(), limits.deadMarginWithoutChainMs)) return false
  state.decide(db => {
    lease.check(db)
    journal.toDead(db, payment.id, payment.reason ?? 'rejected', true, clock.now())
  })
  return true
}

/** Whether the chain would take the payment no more, with a margin for clocks and late blocks. */
export const isOver = ({ validBeforeMs }: journal.Payment, nowMs: number, marginMs: number): boolean =>
  validBeforeMs !== null && nowMs > validBeforeMs + marginMs

export function stillOpen(payment: journal.Payment): WalletRefusal {
  const amount = displayUsd(payment.amountMicroUsd)
  const until = payment.validBeforeMs === null ? 'then' : new Date(payment.validBeforeMs).toISOString()
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
