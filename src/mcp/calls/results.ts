import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { zeroUsd } from '#contract/money.ts'
import { displayUntil } from '#contract/time.ts'
import { type AnswerKept, type ApprovalRequest, sayOpenRequest, type Waiting, waitingFor } from '#toolkit/approval.ts'
import type { ToolOutcome } from '#toolkit/run-tool.ts'
import { type FailureFacts, failureOutput, sayFailure } from '#toolkit/tool-failure.ts'
import { sayLeft, usd } from '#toolkit/values/amounts.ts'
import type { ClientMedia } from '../client/client-media.ts'
import { sayFault } from '../faults.ts'

type Done = Extract<ToolOutcome, { kind: 'done' }>

export const doneResult = (
  { output, text, files, shows = [] }: Done,
  links: ClientMedia['links'] = 'all',
): CallToolResult => ({
  content: [{ type: 'text', text }, ...shows, ...(links === 'none' ? [] : files.map(file => link(file, links)))],
  structuredContent: output,
})

export const failedResult = (facts: FailureFacts, nowMs: number): CallToolResult => ({
  content: [{ type: 'text', text: withWhatIsLeft(sayFailure(facts, nowMs), facts) }, ...(facts.shows ?? [])],
  structuredContent: failureOutput(facts, nowMs),
  isError: true,
})

/** The service's text comes below ours and is marked, so the remaining credit is reported before it. */
function withWhatIsLeft(text: string, { creditLeftMicroUsd = null, budgetLeftMicroUsd = null }: FailureFacts): string {
  const left = sayLeft(usd(creditLeftMicroUsd), usd(budgetLeftMicroUsd))
  const [ours = '', ...framed] = text.split('\n')
  return [left === '' ? ours : `${ours} ${left}`, ...framed].join('\n')
}

export const faultResult = (reference: string, nowMs: number): CallToolResult =>
  failedResult(
    {
      happened: sayFault(reference),
      charged: 'unknown',
      next: 'Repeating a paid call returns the result without paying again. Try once more, then report the reference.',
    },
    nowMs,
  )

/** The client declared forms, but did not show this one, or no one answered it. */
export const unaskedResult = (nowMs: number): CallToolResult =>
  failedResult(
    {
      happened: 'The client did not ask the user.',
      charged: zeroUsd,
      next: 'Make the same call again: its result then shows what the user can do.',
    },
    nowMs,
  )

/** For a client that cannot ask: a successful result that says what to show, and where the user decides. */
export const openRequestResult = (request: ApprovalRequest, tool: string, nowMs: number): CallToolResult =>
  waitingResult(sayOpenRequest(request, tool, nowMs), waitingFor(request, tool, nowMs))

export function declinedResult(approvalId: string, { untilMs, takesBack }: AnswerKept, nowMs: number): CallToolResult {
  const next = `Only the user can reverse this earlier, with \`${takesBack}\` in a terminal. Do not ask again unless the user wants to.`
  return waitingResult(
    `The user denied this. Nothing was sent or charged. The same call is refused until ${displayUntil(untilMs, nowMs)}; after that, the user is asked again. ${next}`,
    { status: 'declined', approval_id: approvalId, next_step: next, expires_at: new Date(untilMs).toISOString() },
  )
}

const askForValues = 'Ask the user, then call again with the values as arguments.'

/** The user dismissed a form. */
export const unfilledResult: CallToolResult = {
  content: [{ type: 'text', text: `The user did not fill in the form. Nothing was sent or charged. ${askForValues}` }],
  structuredContent: { status: 'declined', next_step: askForValues },
}

/** The user decided nothing, so only the request itself is on record. */
export const closedResult = (approvalId: string): CallToolResult =>
  waitingResult(`The user closed the dialog without deciding. Nothing was sent or charged. ${askAgain}`, {
    status: 'needs_approval',
    approval_id: approvalId,
    next_step: askAgain,
  })

const askAgain = 'Make the same call to ask again when the user wants to.'

const waitingResult = (text: string, waiting: Waiting): CallToolResult => ({
  content: [{ type: 'text', text }],
  structuredContent: { ...waiting },
})

const link = ({ path, mimeType }: Done['files'][number], links: ClientMedia['links']) => ({
  type: 'resource_link' as const,
  uri: pathToFileURL(path).href,
  name: basename(path),
  ...(links === 'untyped' && mimeType.startsWith('image/') ? {} : { mimeType }),
})

/** For a call that its client has cancelled; protocols send nothing then. */
export const stoppedResult: CallToolResult = {
  content: [{ type: 'text', text: 'The call was stopped.' }],
  isError: true,
}
