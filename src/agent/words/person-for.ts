import { NeedsPerson, type Question } from '#toolkit/person.ts'
import type { ApprovalQuestion } from '#wallet/terms/needs-approval.ts'

/** A question of the wallet as the tools ask it. */
export function personFor({ facts, ...asked }: ApprovalQuestion): NeedsPerson {
  return new NeedsPerson({ ...phrased(facts), ...asked } as Question)
}

/** Sentences of the wallet stand inside a sentence there. */
function phrased(facts: ApprovalQuestion['facts']): ApprovalQuestion['facts'] {
  if (facts.kind !== 'spend') return facts
  const because = facts.because.replace(/\.$/, '')
  return {
    ...facts,
    what: facts.what.replace(/\.$/, ''),
    because: because.charAt(0).toLowerCase() + because.slice(1),
  }
}
