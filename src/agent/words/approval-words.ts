import { lowered } from '#contract/errors/as-clause.ts'
import { displayUntil } from '#contract/time.ts'
import { type AnswerKept, type ApprovalRequest, ApprovalRequired } from '#toolkit/approval.ts'
import { type Approval, type Approvals, approveCommand } from '#wallet/approvals/approvals.ts'
import type { PendingApproval } from '#wallet/terms/approval.ts'
import type { AgentContext } from '../context.ts'
import { asTyped, placeOf } from './typed-commands.ts'

/** Returns how long the user's decision applies, and the command that reverses a denial, as typed here. */
export function answerKept({ id, expiresAtMs }: Approval, agent: AgentContext): AnswerKept {
  const command = asTyped(`\`${approveCommand(id, agent.state.folder)}\``, placeOf(agent))
  return { untilMs: expiresAtMs, takesBack: command.split('`')[1] ?? '' }
}

/** Turns a pending approval of the wallet into the error that tools throw. */
export const approvalRequired = ({ facts, ...asked }: PendingApproval): ApprovalRequired =>
  new ApprovalRequired({ ...facts, ...asked } as ApprovalRequest)

/** Tells the user, after the decision, how long it applies and how to reverse a denial. */
export function sayAnswer(answered: Approval, approvals: Pick<Approvals, 'asPending'>, nowMs: number): string {
  const { state, facts, expiresAtMs } = answered
  const until = displayUntil(expiresAtMs, nowMs)
  if (state !== 'approved') {
    const { howToApprove } = approvals.asPending(answered)
    return `Denied: nothing was sent or charged. The same request is refused until ${until}; after that, you are asked again. To reverse the denial, ${lowered(howToApprove)}`
  }
  if (facts.kind === 'payee')
    return 'Approved: the wallet may pay this address, now and later, within the caps. The assistant can continue.'
  return `Approved. The assistant can continue: the approval is valid for this request until ${until}.`
}
