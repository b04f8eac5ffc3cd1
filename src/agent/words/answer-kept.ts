import type { AnswerKept } from '#toolkit/approval.ts'
import { type Approval, approveCommand } from '#wallet/approvals/approvals.ts'
import type { Core } from '../core.ts'
import { asTyped, placeOf } from './as-typed.ts'

/** How long a person's answer counts, and the command that takes a no back, as it is typed here. */
export function answerKept({ id, expiresAtMs }: Approval, core: Core): AnswerKept {
  const command = asTyped(`\`${approveCommand(id, core.state.folder)}\``, placeOf(core))
  return { untilMs: expiresAtMs, takesBack: command.split('`')[1] ?? '' }
}
