import { nodesInUse } from '../chains/chain-nodes.ts'
import { solanaEnd } from '../chains/solana-end.ts'
import { deadMarginMs } from '../limits.ts'
import * as journal from '../records/journal.ts'
import type { Work } from '../records/work.ts'
import { defaultRails } from '../rules/policy.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { Send } from './send-payment.ts'
import { buryRejected, dropPlanned, isOver, openHere, sendUntilAnswered } from './settle.ts'
import type { Till } from './till.ts'
import { withTopUpLease } from './top-up-lease.ts'

/** What was planned is dropped, what was signed is sent again, what is refused and over is buried. In a dry run nothing leaves. */
export async function recover(till: Till, send: Send): Promise<journal.Payment[]> {
  if (till.policy.dryRun) return []
  return withTopUpLease(till.records, till.pause, async lease => {
    await till.noteJournal()
    await dropPlanned(till, lease)
    const recovered: journal.Payment[] = []
    for (const { id } of await openHere(till)) {
      const payment = await sendUntilAnswered(till, lease, id, send)
      if (payment.state !== 'confirmed') await buryRejected(till, lease, payment)
      recovered.push(await till.records.read(() => journal.paymentOf(id)))
    }
    return recovered
  })
}

/** A person has looked at the chain and says whether an open or buried payment has left the wallet. */
export async function resolvePayment(
  { records, nodes }: Pick<Till, 'records' | 'nodes'>,
  id: string,
  hasLeft: boolean,
  by: string,
): Promise<journal.Payment> {
  const known = await records.read(() => resolvable(id))
  const end = await solanaEnd(nodesInUse(nodes, { origin: known.origin, rails: defaultRails, tokenNames: [] }), known)
  if (end?.kind === 'taken' && !hasLeft)
    throw refusal(
      `The chain holds the payment ${id}${end.transaction === null ? '' : ` as ${end.transaction}`}.`,
      'It has left the wallet: answer left.',
    )
  return records.decide(function* (nowMs) {
    const payment = yield* resolvable(id)
    const isDone = end ? end.kind !== 'open' : isOver(payment, nowMs, deadMarginMs)
    if (!isDone) throw refusal(`The payment ${id} could still be collected.`, 'Wait until its authorisation is over.')
    yield* journal.toResolved(id, hasLeft, by, nowMs)
    return yield* journal.paymentOf(id)
  })
}

function* resolvable(id: string): Work<journal.Payment> {
  const payment = yield* journal.findPayment(id)
  if (!payment) throw refusal('There is no such payment.', 'Look at `farebox wallet receipts`.')
  if (payment.state === 'dead' || payment.state === 'unknown') return payment
  throw refusal(`The payment ${id} is ${payment.state}.`, 'Only one whose outcome is unknown can be resolved.')
}

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'not-found', sentence, nextStep })
