import type { MicroUsd } from '#contract/money.ts'
import { errorAsJson } from './error-as-json.ts'

/** What only a person decides. The text of a policy stands here whole, exactly as the service sent it. */
export type Question = ConsentQuestion | SpendQuestion | PayeeQuestion

interface Asked {
  /** Names the row that waits for the answer; it is bound to the request and to the text. */
  approvalId: string
  /** What is asked, in a few words for a list or a log; a policy is only ever shown whole. */
  inShort: string
  /** Where it can be answered without the assistant, in one sentence. */
  howToApprove: string
  expiresAtMs: number
}

/** Brief §3.2: three attestations, each to be ticked by the person; none is ticked for them. */
export interface ConsentQuestion extends Asked {
  kind: 'consent'
  /** The key under `consents`. */
  provider: string
  policyText: string
  policyVersion: string
  docsUrl: string
  /** In which of the request's media a face was found, or nobody looked for one. */
  faceMediaRoles: readonly string[]
}

export interface SpendQuestion extends Asked {
  kind: 'spend'
  /** What would be bought, in our words. */
  what: string
  /** Null where the call cannot be priced beforehand. */
  amountMicroUsd: MicroUsd | null
  /** Which rule asks: above the threshold, not priced, beyond what a 402 allows. */
  because: string
}

/** A payee that the wallet has not paid before. */
export interface PayeeQuestion extends Asked {
  kind: 'payee'
  payTo: string
  origin: string
  amountMicroUsd: MicroUsd
}

export type PersonAnswer =
  | { kind: 'consent'; termsAndPrivacy: boolean; legalRight: boolean; screeningAcknowledged: boolean }
  | { kind: 'approve'; approved: boolean }
  /** The person said no to the question as a whole. */
  | { kind: 'declined' }

/**
 * Thrown by a context's effects, never caught by a tool: the frame asks, records the answer and runs the tool again,
 * which then finds its approval. Nothing has been paid or sent when it is thrown.
 */
export class NeedsPerson extends Error {
  readonly question: Question

  constructor(question: Question) {
    const because = question.kind === 'spend' ? `, because ${question.because}` : ''
    super(`A person has to decide: ${question.inShort}${because} (${question.approvalId}). ${question.howToApprove}`)
    this.name = 'NeedsPerson'
    this.question = question
  }

  /** For a log: amounts as texts of micro-USD. */
  toJSON(): Record<string, unknown> {
    return errorAsJson(this, { question: this.question })
  }
}
