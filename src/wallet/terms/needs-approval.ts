import type { MicroUsd } from '#contract/money.ts'
import type { QuestionWords } from './question-words.ts'

/** What only a person decides, as data. The text of a policy stands here whole, as the service sent it. */
export type ApprovalFacts =
  | {
      kind: 'consent'
      provider: string
      policyText: string
      policyVersion: string
      docsUrl: string
      faceMediaRoles: readonly string[]
    }
  /** `amountMicroUsd` is null where the call cannot be priced beforehand. */
  | { kind: 'spend'; what: string; amountMicroUsd: MicroUsd | null; because: string }
  | { kind: 'payee'; origin: string; network: string; asset: string; payTo: string; amountMicroUsd: MicroUsd }

export type ConsentFacts = Extract<ApprovalFacts, { kind: 'consent' }>

export interface ApprovalQuestion extends QuestionWords {
  approvalId: string
  facts: ApprovalFacts
  /** Where it can be answered without the assistant, in one sentence. */
  howToApprove: string
  expiresAtMs: number
}

/** Thrown before anything is signed: a row waits for a person's answer, bound to this very request. */
export class NeedsApproval extends Error {
  override readonly name = 'NeedsApproval'
  readonly question: ApprovalQuestion

  constructor(question: ApprovalQuestion) {
    super(`A person has to decide: ${question.inShort} (${question.approvalId}).`)
    this.question = question
  }
}
