import { fieldError } from '#contract/errors/issues.ts'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { answerBytes } from '#engines/bounds.ts'
import { askedTokens } from '#engines/ports/engine.ts'
import type { TextModel } from '../../models/model.ts'
import { logprobBytes, longTokenBytes, tokenBytes } from './bounds.ts'

/** The tokens, all choices together, with which an answer is no larger than an engine's may be. A stream has no such end. */
export const tokensOfAnswer = (request: ChatCompletionRequest): number =>
  request.stream ? Number.POSITIVE_INFINITY : tokensWithin(request, tokenBytes)

/** The least tokens of an answer that was larger all the same, as one of long runs of blanks. */
export const tokensOfTooLarge = (request: ChatCompletionRequest): number => tokensWithin(request, longTokenBytes)

function tokensWithin({ logprobs, top_logprobs: top }: ChatCompletionRequest, textBytes: number): number {
  const listed = logprobs || top ? 1 + (top ?? 0) : 0
  return Math.floor(answerBytes / (textBytes + listed * logprobBytes))
}

/**
 * Throws 400 for an answer that would be made and then thrown away because it is too large. Who names no maximum is given
 * one that fits, as long as there is any.
 */
export function checkAnswerSize(model: TextModel, request: ChatCompletionRequest): void {
  const { n, top_logprobs: top } = request
  const choices = n ?? 1
  const most = Math.floor(tokensOfAnswer(request) / choices)
  const asked = askedTokens(request)
  if (most >= Math.min(asked ?? 1, model.maximumCompletionTokens)) return
  const [field = 'top_logprobs'] = lengthFields.filter(name => request[name] === asked)
  throw fieldError(
    [most > 0 ? field : 'top_logprobs'],
    `an answer of ${asked ?? 1} tokens with n ${choices} and top_logprobs ${top ?? 0} is larger than one that is not ` +
      `streamed may be; allowed values: up to ${most} tokens with these, or fewer of n and top_logprobs, or stream: true`,
  )
}

const lengthFields = ['max_completion_tokens', 'max_tokens', 'maxCompletionTokens'] as const
