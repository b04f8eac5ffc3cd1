import type { Payment } from '#wallet/records/journal.ts'
import type { Row } from '#wallet/records/records.ts'

const open = new Set(['planned', 'signed', 'sent', 'unknown'])

/** Goes through the journal as it was written: what was reserved, what was open, and what was signed at each moment. */
export function checkSteps(steps: readonly Row[], payments: readonly Payment[], maxTotalMicroUsd: bigint): string[] {
  const failures: string[] = []
  const byId = new Map(payments.map(payment => [payment.id, payment]))
  const states = new Map<string, string>()
  const signatures = new Map<string, number>()
  for (const { payment_id, state } of steps) {
    const [id, next] = [String(payment_id), String(state)]
    // What is open at another service counts, and is no reason to wait.
    const origin = byId.get(id)?.origin
    const others = [...states].filter(
      ([other, at]) => other !== id && open.has(at) && byId.get(other)?.origin === origin,
    )
    if (next === 'planned' && others.length > 0) failures.push(`${id} was planned while ${others[0]?.[0]} was open.`)
    if (next === 'signed') signatures.set(id, (signatures.get(id) ?? 0) + 1)
    states.set(id, next)
    const counted = [...states].reduce((sum, [each, at]) => sum + countedOf(byId.get(each), at), 0n)
    if (next === 'planned' && counted > maxTotalMicroUsd)
      failures.push(`With ${id} ${counted} micro-USD were reserved, over the total.`)
  }
  for (const [id, count] of signatures) if (count > 1) failures.push(`${id} was signed ${count} times.`)
  for (const { id, nonce } of payments) {
    if (nonce !== null && !signatures.has(id)) failures.push(`${id} has a nonce and was never signed.`)
  }
  return failures
}

/** A payment that ended without having left counts until then. */
const countedOf = (payment: Payment | undefined, state: string): bigint =>
  payment && (payment.counts || state !== 'dead') ? payment.amountMicroUsd : 0n
