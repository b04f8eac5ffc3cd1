import type { MicroUsd } from '#contract/money.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { type InputItem, type InputPart, ResponsesRequest } from '#contract/operations/responses.ts'
import { responseItemTokens } from '../bounds.ts'
import { answerBound, bytesOf } from './chat-bound.ts'
import { hasBilledOptions, hasCharacter, hasLongCache, hasOtherMembers } from './chat-extras.ts'
import { mostOfAnswering } from './most-of-answering.ts'

/** The most that an answer in the shape of OpenAI's Responses can cost: that of the same chat. Null where a chat's is. */
export function responseBound(
  record: ModelRecord,
  body: ResponsesRequest,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasUnbounded(record, body)) return null
  const items = typeof body.input === 'string' ? [] : body.input
  // Instructions and an input that is one text are messages too.
  const pieces = items.length + (body.tools?.length ?? 0) + 2
  const sent = {
    bytes: bytesOf(body) + pieces * responseItemTokens,
    media: items.flatMap(mediaOf),
    hasUnknownText: hasCharacter(record, body),
  }
  return mostOfAnswering(record, records, model =>
    answerBound(model, sent, { most: body.max_output_tokens ?? 0, answers: 1 }),
  )
}

const hasUnbounded = (record: ModelRecord, body: ResponsesRequest): boolean =>
  hasOtherMembers(body, ResponsesRequest.shape) ||
  Boolean(body.web_search) ||
  Boolean(body.fallbacks?.length) ||
  Boolean(body.tools?.some(({ type }) => type !== 'function')) ||
  hasLongCache(body) ||
  hasBilledOptions(record, body)

function mediaOf(item: InputItem): string[] {
  const parts =
    item.type === 'function_call_output' ? item.output : !item.type || item.type === 'message' ? item.content : []
  return Array.isArray(parts) ? parts.map(mediumOf).filter(data => data !== null) : []
}

function mediumOf(part: InputPart): string | null {
  switch (part.type) {
    case 'input_image':
    case 'image_url':
      return typeof part.image_url === 'string' ? part.image_url : part.image_url.url
    case 'input_audio':
      return part.input_audio.data
    case 'input_file':
      return part.file_data
    default:
      return null
  }
}
