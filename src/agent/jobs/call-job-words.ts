import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { type MicroUsd, zeroUsd } from '#contract/money.ts'
import { NeedsPerson } from '#toolkit/approval.ts'
import { failureAsText, ToolFailure } from '#toolkit/tool-failure.ts'
import { LostCall } from '../calls/lost-call.ts'
import type { Core } from '../core.ts'
import { placeOf } from '../words/as-typed.ts'
import { circumstancesOf, explain } from '../words/explain.ts'
import { typedWords } from '../words/typed-words.ts'

/**
 * How a job ends by an error of its call, or null where it goes on. `isRefused`: the call's row says that nothing was done.
 * `approvalId` names the question that kept it from being made.
 */
export function endOfCall(
  error: unknown,
  isRefused: boolean,
  core: Core,
): { failure: string; chargedMicroUsd: MicroUsd | null; approvalId?: string } | null {
  if (!isRefused && !isLastWord(error)) return null
  const worded = inWords(error, core)
  if (isRefused && worded instanceof NeedsPerson) {
    return { failure: sayEnd(worded), chargedMicroUsd: zeroUsd, approvalId: worded.question.approvalId }
  }
  const costNothing = isRefused || (worded instanceof LostCall && worded.facts.charged === zeroUsd)
  return { failure: sayEnd(worded), chargedMicroUsd: costNothing ? zeroUsd : null }
}

/**
 * The job goes on: what one question came to says nothing of what its call was charged. What has to be mended first is told
 * before that; the advice for a lost call is for who has no job of it. A person is asked as ever.
 */
export function notYetAnswered(error: unknown, core: Core): unknown {
  const worded = inWords(error, core)
  if (!(worded instanceof ToolFailure)) return error
  const isLost = error instanceof LostCall || (error instanceof ClientError && error.wasSent)
  const next = `${isLost ? '' : `${worded.facts.next} `}The job goes on: call job_wait with it again.`
  return new ToolFailure({ ...worded.facts, charged: 'unknown', next })
}

/** Of its answer, whoever asks for it again. */
const lastWords: ReadonlySet<string> = new Set(['IDEMPOTENCY_ANSWER_NOT_KEPT', 'IDEMPOTENCY_KEY_REUSED'])

function isLastWord(error: unknown): boolean {
  if (error instanceof LostCall) return error.isFinal
  if (error instanceof ServiceError) return lastWords.has(error.kind)
  return error instanceof ClientError && (error.kind === 'unreadable' || error.kind === 'too-large')
}

const inWords = (error: unknown, core: Core): unknown =>
  typedWords(explain(error, circumstancesOf(core, true)), placeOf(core))

function sayEnd(worded: unknown): string {
  if (worded instanceof ToolFailure) return failureAsText(worded.facts)
  if (worded instanceof NeedsPerson) return 'A person has to decide about it first: the same call asks them.'
  return 'A fault of this program ended it. The same call makes it anew.'
}
