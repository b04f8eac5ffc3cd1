import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequest,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { displaySpan } from '#contract/time.ts'
import { type ApprovalDecision, type ApprovalRequest, attestations, sayRequest } from '#toolkit/approval.ts'
import type { FormValues, UserForm } from '#toolkit/define.ts'
import { approvalFormMs } from '../bounds.ts'

/** The name of the only request in an answer. */
const KEY = 'decision'

/** Newer clients declare their capabilities with each request, older ones once. */
export function canAsk(context: ServerContext, declared: ClientCapabilities | undefined): boolean {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {}
  const said = (envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined) ?? declared
  const elicitation = said?.elicitation
  // Before modes existed, a bare `elicitation: {}` meant forms.
  return elicitation !== undefined && ('form' in elicitation || !('url' in elicitation))
}

export const asForm = (request: ApprovalRequest, nowMs: number): Record<string, InputRequest> => ({
  [KEY]: asRequest(request, nowMs),
})

/** Returns the form that asks for this approval. */
export const asRequest = (request: ApprovalRequest, nowMs: number): InputRequest =>
  inputRequired.elicit(request.kind === 'consent' ? consentForm(request, nowMs) : approvalForm(request, nowMs))

/**
 * Returns the user's answer: `closed` if they dismissed the form or did not tick every box, undefined if the client
 * sent nothing.
 */
export function userAnswer(
  kind: ApprovalRequest['kind'],
  context: ServerContext,
  name = KEY,
): ApprovalDecision | 'closed' | undefined {
  const response = inputResponse(context.mcpReq.inputResponses, name)
  if (response.kind !== 'elicit') return undefined
  if (response.action === 'cancel') return 'closed'
  if (response.action !== 'accept') return { kind: 'declined' }
  const boxes = kind === 'consent' ? Object.keys(attestations) : ['approved']
  const filled = Object.keys(response.content ?? {})
  // Only a program that answers every form alike fills in fields that the form does not have. Asking it again would
  // never end.
  if (filled.length > 0 && !filled.some(name => boxes.includes(name))) return { kind: 'declined' }
  // Only the JSON value true is a tick. A form without all ticks may be a slip, so it does not count as a decision.
  if (!boxes.every(name => response.content?.[name] === true)) return 'closed'
  if (kind !== 'consent') return { kind: 'approve', approved: true }
  return { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true }
}

/** Returns a form as the protocol sends it. */
export const formRequest = ({ name, message, fields, required }: UserForm): Record<string, InputRequest> => ({
  [name]: inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { ...fields }, required: [...required] },
  }),
})

/** Returns what the user filled in: `left` if they dismissed the form, undefined if the client sent nothing for it. */
export function formAnswer({ name }: UserForm, context: ServerContext): FormValues | 'left' | undefined {
  const response = inputResponse(context.mcpReq.inputResponses, name)
  if (response.kind !== 'elicit') return undefined
  return response.action === 'accept' ? (response.content ?? {}) : 'left'
}

const box = (title: string) => ({ type: 'boolean' as const, title, default: false })

/** The client stops waiting before the request for approval expires. */
const here = `This form is open for ${displaySpan(approvalFormMs)}.`

const consentForm = (request: ApprovalRequest, nowMs: number) => ({
  message: `${sayRequest(request, nowMs)}\n${here} To approve, tick all three statements. To deny, decline the form. If you submit it without ticking all three, nothing is decided and you may be asked again.`,
  requestedSchema: {
    type: 'object' as const,
    properties: {
      termsAndPrivacy: box(attestations.termsAndPrivacy),
      legalRight: box(attestations.legalRight),
      screeningAcknowledged: box(attestations.screeningAcknowledged),
    },
    required: ['termsAndPrivacy', 'legalRight', 'screeningAcknowledged'],
  },
})

const approvalForm = (request: ApprovalRequest, nowMs: number) => ({
  message: `${sayRequest(request, nowMs)}\n${here} To approve, tick the box. To deny, decline the form. If you submit it without ticking the box, nothing is decided and you may be asked again.`,
  requestedSchema: {
    type: 'object' as const,
    properties: { approved: box('I approve this.') },
    required: ['approved'],
  },
})
