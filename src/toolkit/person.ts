import type { MicroUsd } from '#contract/money.ts'
import { displayTime } from '#contract/time.ts'
import { attestations } from './attestations.ts'
import { errorAsJson } from './error-as-json.ts'

/** What only a person decides. The text of a policy stands here whole, exactly as the service sent it. */
export type Question = ConsentQuestion | SpendQuestion | PayeeQuestion

interface Asked {
  /** Names the row that waits for the answer; it is bound to the request and to the text. */
  approvalId: string
  /** What is asked, what it costs and what tells it from others, in a line for a list or a log; a policy is only ever shown whole. */
  inShort: string
  /** What is asked, one sentence. */
  asks: string
  /** Why a person is asked. */
  why: string
  /** What a person should know, each a line: tool, model, files, price. Words of others are in it as names and quotations. */
  details: readonly { name: string; value: string }[]
  /** What follows from either answer, and for how long. */
  onYes: string
  onNo: string
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
  /** Which rule asks, a sentence: above the threshold, not priced, beyond what a 402 allows. */
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

/** How long an answer counts. */
export interface AnswerKept {
  /** Unix time in milliseconds: until when a yes serves its request, and a no refuses it. */
  untilMs: number
  /** The command by which a person takes a no back. */
  takesBack: string
}

/**
 * Thrown by a context's effects, never caught by a tool: the frame asks, records the answer and runs the tool again,
 * which then finds its approval. Nothing has been paid or sent when it is thrown.
 */
export class NeedsPerson extends Error {
  readonly question: Question

  constructor(question: Question) {
    const { kind, inShort, why, approvalId, expiresAtMs, howToApprove } = question
    const states = kind === 'consent' ? ` A yes states: ${Object.values(attestations).join(' ')}` : ''
    super(
      `A person has to decide: ${inShort}. ${why}${states} The question is open until ${displayTime(expiresAtMs)} (${approvalId}). ${howToApprove}`,
    )
    this.name = 'NeedsPerson'
    this.question = question
  }

  /** For a log: amounts as texts of micro-USD. */
  toJSON(): Record<string, unknown> {
    return errorAsJson(this, { question: this.question })
  }
}
