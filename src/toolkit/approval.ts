import type { MicroUsd } from '#contract/money.ts'
import { displayTime, displayUntil } from '#contract/time.ts'
import { errorAsJson } from './tool-failure.ts'
import { framed, hiddenShown, untrustedId } from './values/untrusted.ts'

/** What only the user decides. The text of a policy stands here whole, exactly as the service sent it. */
export type Question = ConsentQuestion | SpendQuestion | PayeeQuestion

interface Asked {
  /** Names the row that waits for the answer; it is bound to the request and to the text. */
  approvalId: string
  /** What is asked, what it costs and what tells it from others, in a line for a list or a log; a policy is only ever shown whole. */
  inShort: string
  /** What is asked, one sentence. */
  asks: string
  /** Why the user is asked. */
  why: string
  /**
   * What the user should know, each a line: tool, model, files, price. Words of others are in it as names and
   * quotations.
   */
  details: readonly { name: string; value: string }[]
  /** What follows from either answer, and for how long. */
  onYes: string
  onNo: string
  /** Where it can be answered without the assistant, in one sentence. */
  howToApprove: string
  expiresAtMs: number
}

/** Brief §3.2: three attestations, each to be ticked by the user; none is ticked for them. */
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
  /** The user said no to the question as a whole. */
  | { kind: 'declined' }

/** How long an answer counts. */
export interface AnswerKept {
  /** Unix time in milliseconds: until when a yes serves its request, and a no refuses it. */
  untilMs: number
  /** The command by which the user takes a no back. */
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
    const states = kind === 'consent' ? ` Approving states: ${Object.values(attestations).join(' ')}` : ''
    super(
      `The user has to approve: ${inShort}. ${why}${states} The request is open until ${displayTime(expiresAtMs)} (${approvalId}). ${howToApprove}`,
    )
    this.name = 'NeedsPerson'
    this.question = question
  }

  /** For a log: amounts as texts of micro-USD. */
  toJSON(): Record<string, unknown> {
    return errorAsJson(this, { question: this.question })
  }
}

/** Brief §3.2: what the user states when they consent to a policy, each by itself. Nobody states it for them. */
export const attestations = {
  termsAndPrivacy: 'I have read the policy above and agree to its terms and privacy rules.',
  legalRight: 'I have the legal right to use this media, or the consent of everyone shown in it.',
  screeningAcknowledged: 'I know that the media will be screened.',
} as const

/** The question itself, for the user: what would be done, what it costs, what follows, and a policy's text whole. */
export const sayQuestion = (question: Question, nowMs: number): string =>
  [
    question.asks,
    question.why,
    '',
    ...question.details.map(({ name, value }) => `${name}: ${value}`),
    ...policyOf(question),
    ...statementsOf(question),
    '',
    question.onYes,
    question.onNo,
    `The request ${question.approvalId} is open until ${displayUntil(question.expiresAtMs, nowMs)}.`,
  ].join('\n')

/** The same where nobody can be asked on the spot: what the assistant shows, and where the person approves. */
export function sayOpenQuestion(question: Question, toolName: string, nowMs: number): string {
  return [
    'This needs the user’s approval. Nothing was sent or charged.',
    'Show the user all of the following, word for word:',
    '',
    sayQuestion(question, nowMs),
    '',
    `${question.howToApprove} Only the user can do this; no tool argument can. Afterwards call ${toolName} again with the same arguments.`,
  ].join('\n')
}

/** Anything but a whole yes is a no. */
export function isYes(answer: PersonAnswer): boolean {
  if (answer.kind === 'approve') return answer.approved
  return answer.kind === 'consent' && answer.termsAndPrivacy && answer.legalRight && answer.screeningAcknowledged
}

/** What a yes says in the user's name, word for word. */
const statementsOf = ({ kind }: Question): string[] =>
  kind === 'consent'
    ? ['', 'Approving makes these three statements:', ...Object.values(attestations).map(statement => `- ${statement}`)]
    : []

const policyOf = (question: Question): string[] =>
  question.kind === 'consent'
    ? ['', framed(`full policy of ${untrustedId(question.provider)}`, hiddenShown(question.policyText))]
    : []

/** The structured form of an answer that waits for the user, or that the user has declined. */
export interface Waiting {
  /** `needs_person`: nobody could be asked from here, or the question was closed without an answer. */
  status: 'needs_person' | 'declined'
  approval_id: string
  how_to_approve?: string
  /** When the question ends, or the no does. */
  expires_at?: string
}

/** Members of the output schema of every tool that may ask. */
export const waitingProperties = {
  status: { enum: ['needs_person', 'declined'] },
  approval_id: { type: 'string' },
  how_to_approve: { type: 'string' },
  expires_at: { type: 'string' },
}

/** Members of every tool's answer where it failed, in its output schema too: clients exist that hold one against the other. */
export const failureProperties = {
  next_step: { type: 'string' },
  retry_after_seconds: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
  service_said: { type: 'string' },
}

export const waitingFor = (question: Question): Waiting => ({
  status: 'needs_person',
  approval_id: question.approvalId,
  how_to_approve: question.howToApprove,
  expires_at: new Date(question.expiresAtMs).toISOString(),
})
