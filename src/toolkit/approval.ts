import type { MicroUsd } from '#contract/money.ts'
import { displayTime, displayUntil } from '#contract/time.ts'
import { errorAsJson } from './tool-failure.ts'
import { isoTime, usd } from './values/amounts.ts'
import { framed, hiddenShown, untrustedId } from './values/untrusted.ts'

/** A decision for the user. A policy's text is included in full, exactly as the service sent it. */
export type ApprovalRequest = ConsentRequest | SpendRequest | PayeeRequest

interface RequestDetails {
  /** Id of the approval's row; it is tied to the request and to the text. */
  approvalId: string
  /**
   * Summarizes the request, its cost and its details in one line, for a list or log. A policy is shown only in full.
   */
  summary: string
  /** What the user decides, as a question in one sentence. */
  question: string
  /** Why the user must decide. */
  why: string
  /**
   * Facts for the user, one per line: tool, model, files, price. Untrusted words appear only as names and quotations.
   */
  details: readonly { name: string; value: string }[]
  /** The consequences of approving, and how long they apply. */
  ifApproved: string
  ifDenied: string
  /** Where the user can decide without the assistant, in one sentence. */
  howToApprove: string
  expiresAtMs: number
}

/** Brief §3.2: three attestations, each to be ticked by the user; none is pre-ticked. */
export interface ConsentRequest extends RequestDetails {
  kind: 'consent'
  /** The key under `consents`. */
  provider: string
  policyText: string
  policyVersion: string
  docsUrl: string
  /** The request's media in which a face was found, or which were not checked. */
  faceMediaRoles: readonly string[]
}

export interface SpendRequest extends RequestDetails {
  kind: 'spend'
  /** What the call buys, in our words. */
  what: string
  /** Null if the price of the call is unknown in advance. */
  amountMicroUsd: MicroUsd | null
  /** Why the user must decide, as a sentence: above the threshold, not priced, more than a 402 allows. */
  because: string
}

/** A payee that the wallet has not paid before. */
export interface PayeeRequest extends RequestDetails {
  kind: 'payee'
  payTo: string
  origin: string
  amountMicroUsd: MicroUsd
}

/** The decision on a request: what `onApproval` returns. */
export type ApprovalDecision =
  | { kind: 'consent'; termsAndPrivacy: boolean; legalRight: boolean; screeningAcknowledged: boolean }
  | { kind: 'approve'; approved: boolean }
  /** The user declined the request as a whole. */
  | { kind: 'declined' }

/** How long the user's decision applies. */
export interface AnswerKept {
  /** Unix time in milliseconds until which an approval is valid, or a denial refuses the request. */
  untilMs: number
  /** The command with which the user reverses a denial. */
  takesBack: string
}

/**
 * Thrown if the user must decide before a call can continue; nothing has been paid or sent. A tool never catches it: the
 * server asks the user, records the decision and runs the tool again, which then finds its approval.
 */
export class ApprovalRequired extends Error {
  readonly request: ApprovalRequest

  constructor(request: ApprovalRequest) {
    const { kind, summary, why, approvalId, expiresAtMs, howToApprove } = request
    const states = kind === 'consent' ? ` By approving, the user states: ${Object.values(attestations).join(' ')}` : ''
    super(
      `The user has to approve: ${summary}. ${why}${states} The request is open until ${displayTime(expiresAtMs)} (${approvalId}). ${howToApprove}`,
    )
    this.name = 'ApprovalRequired'
    this.request = request
  }

  /** For a log: amounts as texts of micro-USD. */
  toJSON(): Record<string, unknown> {
    return errorAsJson(this, { request: this.request })
  }
}

/** Brief §3.2: what the user declares when they consent to a policy, one by one. Only the user may declare it. */
export const attestations = {
  termsAndPrivacy: 'I have read the policy above and agree to its terms and privacy rules.',
  legalRight: 'I have the legal right to use this media, or the consent of everyone shown in it.',
  screeningAcknowledged: 'I know that the media will be screened.',
} as const

/** The full request for the user: the action, its cost, its consequences, and a policy's complete text. */
export const sayRequest = (request: ApprovalRequest, nowMs: number): string =>
  [
    request.question,
    request.why,
    '',
    ...request.details.map(({ name, value }) => `${name}: ${value}`),
    ...policyOf(request),
    ...statementsOf(request),
    '',
    request.ifApproved,
    request.ifDenied,
    `The request ${request.approvalId} is open until ${displayUntil(request.expiresAtMs, nowMs)}.`,
  ].join('\n')

/** For a client that cannot ask: tells the assistant what to show, and where the user decides. */
export function sayOpenRequest(request: ApprovalRequest, toolName: string, nowMs: number): string {
  return [
    'This needs the user’s approval. Nothing was sent or charged.',
    'Show the user all of the following, word for word:',
    '',
    sayRequest(request, nowMs),
    '',
    whatNext(request, toolName),
  ].join('\n')
}

const whatNext = ({ howToApprove }: ApprovalRequest, toolName: string): string =>
  `${howToApprove} Only the user can do this; no tool argument can. Afterwards call ${toolName} again with the same arguments.`

/** Anything but a complete approval is a denial. */
export function isApproved(answer: ApprovalDecision): boolean {
  if (answer.kind === 'approve') return answer.approved
  return answer.kind === 'consent' && answer.termsAndPrivacy && answer.legalRight && answer.screeningAcknowledged
}

/** What an approval declares on the user's behalf, word for word. */
const statementsOf = ({ kind }: ApprovalRequest): string[] =>
  kind === 'consent'
    ? [
        '',
        'By approving, you make these three statements:',
        ...Object.values(attestations).map(statement => `- ${statement}`),
      ]
    : []

const policyOf = (request: ApprovalRequest): string[] =>
  request.kind === 'consent'
    ? ['', framed(`full policy of ${untrustedId(request.provider)}`, hiddenShown(request.policyText))]
    : []

/** The structured answer while the user's decision is pending, or after they declined. */
export interface Waiting {
  /** `needs_approval`: the user could not be asked from here, or dismissed the dialog. */
  status: 'needs_approval' | 'declined'
  approval_id: string
  /** The whole request in words, for the user. */
  question?: string
  /** The maximum cost of approving it; absent if it is unknown, and for a consent, which is free. */
  at_most_usd?: number
  next_step: string
  /** When the request or the denial expires. */
  expires_at?: string
}

/** Members of the output schema of every tool that may ask the user. */
export const waitingProperties = {
  status: { enum: ['needs_approval', 'declined'] },
  approval_id: { type: 'string' },
  question: { type: 'string' },
  at_most_usd: { type: 'number' },
  expires_at: { type: 'string' },
}

/**
 * Members of every tool's answer after a failure, also in its output schema, because some clients validate answers
 * against it. A failure has more members, which no schema forbids.
 */
export const failureProperties = {
  message: { type: 'string' },
  next_step: { type: 'string' },
}

export function waitingFor(request: ApprovalRequest, toolName: string, nowMs: number): Waiting {
  const amount = request.kind === 'consent' ? null : usd(request.amountMicroUsd)
  return {
    status: 'needs_approval',
    approval_id: request.approvalId,
    question: sayRequest(request, nowMs),
    ...(amount === null ? {} : { at_most_usd: amount }),
    next_step: whatNext(request, toolName),
    expires_at: isoTime(request.expiresAtMs),
  }
}
