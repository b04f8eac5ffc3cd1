import { NeedsPerson, type Question } from '#toolkit/approval.ts'
import type { ApprovalQuestion } from '#wallet/terms/approval.ts'

/** A question of the wallet as the tools ask it. */
export const personFor = ({ facts, ...asked }: ApprovalQuestion): NeedsPerson =>
  new NeedsPerson({ ...facts, ...asked } as Question)
