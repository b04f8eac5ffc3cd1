import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { displayUntil } from '#contract/time.ts'
import { type AnswerKept, type Question, sayOpenQuestion, type Waiting, waitingFor } from '#toolkit/approval.ts'
import type { ToolOutcome } from '#toolkit/run-tool.ts'
import { type FailureFacts, failureOutput, sayFailure } from '#toolkit/tool-failure.ts'
import { sayFault } from '../faults.ts'

type Done = Extract<ToolOutcome, { kind: 'done' }>

export const doneResult = ({ output, text, files, shows = [] }: Done): CallToolResult => ({
  content: [{ type: 'text', text }, ...shows, ...files.map(link)],
  structuredContent: output,
})

export const failedResult = (facts: FailureFacts, nowMs: number): CallToolResult => ({
  content: [{ type: 'text', text: sayFailure(facts, nowMs) }, ...(facts.shows ?? [])],
  structuredContent: failureOutput(facts, nowMs),
  isError: true,
})

export const faultResult = (reference: string, nowMs: number): CallToolResult =>
  failedResult(
    {
      happened: sayFault(reference),
      charged: 'unknown',
      next: 'Repeating a paid call returns the result without paying again. Try once more, then report the reference.',
    },
    nowMs,
  )

/** Nobody can be asked from here: a success that says what to show and where a person decides. */
export const openQuestionResult = (question: Question, tool: string, nowMs: number): CallToolResult =>
  waitingResult(sayOpenQuestion(question, tool, nowMs), waitingFor(question))

export const declinedResult = (approvalId: string, { untilMs, takesBack }: AnswerKept, nowMs: number): CallToolResult =>
  waitingResult(
    `The user denied this. Nothing was sent or charged. The same call is refused until ${displayUntil(untilMs, nowMs)}; after that, it asks again. Only the user can reverse this earlier, with \`${takesBack}\` in a terminal. Do not ask again unless the user wants to.`,
    { status: 'declined', approval_id: approvalId, expires_at: new Date(untilMs).toISOString() },
  )

/** The user left a form without filling it in. */
export const unfilledResult: CallToolResult = {
  content: [
    {
      type: 'text',
      text: 'The user did not fill in the form. Nothing was sent or charged. Ask the user, then call again with the values as arguments.',
    },
  ],
  structuredContent: { status: 'declined' },
}

/** Nothing was decided, so nothing is on record but the question itself. */
export const closedResult = (approvalId: string): CallToolResult =>
  waitingResult(
    'The user closed the dialog without deciding. Nothing was sent or charged. Make the same call to ask again when the user wants to.',
    { status: 'needs_person', approval_id: approvalId },
  )

const waitingResult = (text: string, waiting: Waiting): CallToolResult => ({
  content: [{ type: 'text', text }],
  structuredContent: { ...waiting },
})

const link = ({ path, mimeType }: Done['files'][number]) => ({
  type: 'resource_link' as const,
  uri: pathToFileURL(path).href,
  name: basename(path),
  mimeType,
})

/** For a call that nobody waits for any more; protocols have nothing to send then. */
export const stoppedResult: CallToolResult = {
  content: [{ type: 'text', text: 'The call was stopped.' }],
  isError: true,
}
