import * as journal from './journal.ts'
import { deadMarginMs } from './limits.ts'
import { WalletRefusal } from './refusal.ts'
import type { Send } from './send-payment.ts'
import { buryRejected, dropPlanned, isOver, openHere, sendUntilAnswered } from './settle.ts'
import type { Till } from './till.ts'
import { withTopUpLease } from './top-up-lease.ts'

/** What was planned is dropped, what was signed is sent again, what is refused and over is buried. In a dry run nothing leaves. */
export async function recover(till: Till, send: Send): Promise<journal.Payment[]> {
  if (till.policy.dryRun) return []
  return withTopUpLease(till.state, till.clock, till.pause, async lease => {
    dropPlanned(till, lease)
    const recovered: journal.Payment[] = []
    for (const { id } of openHere(till)) {
      const payment = await sendUntilAnswered(till, lease, id, send)
      if (payment.state !== 'confirmed') buryRejected(till, lease, payment)
      recovered.push(journal.paymentOf(till.state.database(), id))
    }
    return recovered
  })
}

/** A person has looked at the chain and says whether an open or buried payment has left the wallet. */
export function resolvePayment(till: Pick<Till, 'state' | 'clock'>, id: string, hasLeft: boolean, by: string) {
  const nowMs = till.clock.now()
  return till.state.decide(db => {
    const payment = journal.findPayment(db, id)
    if (!payment) throw refusal('There is no such payment.', 'Look at `farebox wallet receipts`.')
    if (payment.state !== 'dead' && payment.state !== 'unknown')
      throw refusal(`The payment ${id} is ${payment.state}.`, 'Only one whose outcome is unknown can be resolved.')
    if (!isOver(payment, nowMs, deadMarginMs))
      throw refusal(`The payment ${id} could still be collected.`, 'Wait until its authorisation is over.')
    journal.toResolved(db, id, hasLeft, by, nowMs)
    return journal.paymentOf(db, id)
  })
}

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'not-found', sentence, nextStep })
