import { displayUntil } from '#contract/time.ts'
import type { Approval, Approvals } from '#wallet/approvals/approvals.ts'

/** What a person is told once they have answered: for how long it counts, and how a no is taken back. */
export function sayAnswer(answered: Approval, approvals: Pick<Approvals, 'asQuestion'>, nowMs: number): string {
  const { state, facts, expiresAtMs } = answered
  const until = displayUntil(expiresAtMs, nowMs)
  if (state !== 'approved') {
    const { howToApprove } = approvals.asQuestion(answered)
    return `Refused: nothing was sent or charged, and the same request is refused until ${until}; afterwards it asks anew. ${howToApprove} That takes the no back.`
  }
  if (facts.kind === 'payee')
    return 'Approved: this address may be paid, now and later, within the caps. The assistant may go on.'
  return `Approved. The assistant may go on: the yes serves this request until ${until}.`
}
