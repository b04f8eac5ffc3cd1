import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequest,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { displaySpan } from '#contract/time.ts'
import { attestations, type PersonAnswer, type Question, sayQuestion } from '#toolkit/approval.ts'
import type { FormValues, PersonForm } from '#toolkit/define.ts'
import { questionMs } from '../bounds.ts'

/** The name of the one question that an answer carries. */
const KEY = 'decision'

/** Newer clients say what they can with each request, older ones said it once. */
export function canAsk(context: ServerContext, declared: ClientCapabilities | undefined): boolean {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {}
  const said = (envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined) ?? declared
  const elicitation = said?.elicitation
  // Before there were modes, a bare `elicitation: {}` meant forms.
  return elicitation !== undefined && ('form' in elicitation || !('url' in elicitation))
}

export const asForm = (question: Question, nowMs: number): Record<string, InputRequest> => ({
  [KEY]: asRequest(question, nowMs),
})

/** The question alone. */
export const asRequest = (question: Question, nowMs: number): InputRequest =>
  inputRequired.elicit(question.kind === 'consent' ? consentForm(question, nowMs) : approvalForm(question, nowMs))

/**
 * The user's answer; `closed` where they left the question without one or sent it without all its ticks, undefined where
 * the client sent nothing at all.
 */
export function personAnswer(
  kind: Question['kind'],
  context: ServerContext,
  name = KEY,
): PersonAnswer | 'closed' | undefined {
  const response = inputResponse(context.mcpReq.inputResponses, name)
  if (response.kind !== 'elicit') return undefined
  if (response.action === 'cancel') return 'closed'
  if (response.action !== 'accept') return { kind: 'declined' }
  const boxes = kind === 'consent' ? Object.keys(attestations) : ['approved']
  const filled = Object.keys(response.content ?? {})
  // Who fills in only what the form does not have is a program that answers every form alike, and would be asked for ever.
  if (filled.length > 0 && !filled.some(name => boxes.includes(name))) return { kind: 'declined' }
  // Only the JSON value true is a tick, and a form sent without its ticks is as easily a slip as a wish.
  if (!boxes.every(name => response.content?.[name] === true)) return 'closed'
  if (kind !== 'consent') return { kind: 'approve', approved: true }
  return { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true }
}

/** A form as the protocol sends it. */
export const formRequest = ({ name, message, fields, required }: PersonForm): Record<string, InputRequest> => ({
  [name]: inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { ...fields }, required: [...required] },
  }),
})

/** What the user filled in; `left` where they did not, undefined where the client sent nothing of this form. */
export function formAnswer({ name }: PersonForm, context: ServerContext): FormValues | 'left' | undefined {
  const response = inputResponse(context.mcpReq.inputResponses, name)
  if (response.kind !== 'elicit') return undefined
  return response.action === 'accept' ? (response.content ?? {}) : 'left'
}

const box = (title: string) => ({ type: 'boolean' as const, title, default: false })

/** The client waits for less long than the question is open. */
const here = `This form is open for ${displaySpan(questionMs)}.`

const consentForm = (question: Question, nowMs: number) => ({
  message: `${sayQuestion(question, nowMs)}\n${here} To approve, tick all three statements. To deny, decline the form. If you submit it without ticking all three, nothing is decided and you may be asked again.`,
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

const approvalForm = (question: Question, nowMs: number) => ({
  message: `${sayQuestion(question, nowMs)}\n${here} To approve, tick the box. To deny, decline the form. If you submit it without ticking the box, nothing is decided and you may be asked again.`,
  requestedSchema: {
    type: 'object' as const,
    properties: { approved: box('I approve this.') },
    required: ['approved'],
  },
})
