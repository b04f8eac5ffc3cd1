import { addUsd, type MicroUsd, priceLines } from '#contract/money.ts'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { EmbeddingRequest } from '#contract/operations/embeddings.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { type InputItem, type InputPart, ResponsesRequest } from '#contract/operations/responses.ts'
import { embeddingFrameTokens, responseItemTokens } from '../bounds.ts'
import { askedModels, mostOfAsked, shownModel } from './asked-models.ts'
import { answerBound, bytesOf, chatBound, dearestPrices } from './chat-bound.ts'
import { hasBilledOptions, hasCharacter, hasLongCache, hasOtherMembers } from './chat-extras.ts'
import type { ModelRecords } from './model-records.ts'
import { mostOf, mostOfAnswering, type Pricer } from './priced-call.ts'

export const priceChat: Pricer = async ({ models }, call) => {
  const body = call as ChatCompletionRequest
  const amountMicroUsd = await mostOfText(models, body, chatBound)
  return { what: `A chat with ${shownModel(body.model)}`, amountMicroUsd }
}

export const priceResponse: Pricer = async ({ models }, call) => {
  const body = call as ResponsesRequest
  const amountMicroUsd = await mostOfText(models, body, responseBound)
  return { what: `A chat with ${shownModel(body.model)}`, amountMicroUsd }
}

export const priceEmbedding: Pricer = async ({ models }, call) => {
  const body = call as EmbeddingRequest
  return {
    what: `Vectors by ${shownModel(body.model)}`,
    amountMicroUsd: await mostOfAsked(models, 'embedding', body.model, (record, all) =>
      embeddingBound(record, body, all),
    ),
  }
}

/** Options behind the name stay, behind the id of each model that may answer. */
async function mostOfText<Body extends { model: string }>(
  models: ModelRecords,
  body: Body,
  boundAt: (record: ModelRecord, body: Body, all: readonly ModelRecord[]) => MicroUsd | null,
): Promise<MicroUsd | null> {
  const { records, all, name } = await askedModels(models, 'text', body.model)
  const options = body.model.slice(name.length)
  if (records.length === 0) return null
  return mostOf(records, record => boundAt(record, { ...body, model: `${record.id}${options}` }, all))
}

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

/**
 * The most that vectors can cost: a byte of a text is a token at most, a token is one, and a model frames each of them.
 * Null where it cannot be said: no price, or a member that may cost more.
 */
export function embeddingBound(
  record: ModelRecord,
  body: EmbeddingRequest,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, EmbeddingRequest.shape)) return null
  const units = BigInt(mostTokens(body.input))
  return mostOfAnswering(record, records, model => {
    const prices = dearestPrices(model)
    return prices && addUsd(...priceLines([{ units, unitPricePicoUsd: prices.input }]))
  })
}

function mostTokens(input: EmbeddingRequest['input']): number {
  if (typeof input === 'string') return framed(Buffer.byteLength(input))
  const [first] = input
  if (typeof first === 'number') return framed(input.length)
  const parts = input as readonly (string | readonly number[])[]
  return parts.reduce((sum, part) => sum + framed(typeof part === 'string' ? Buffer.byteLength(part) : part.length), 0)
}

const framed = (tokens: number): number => tokens + embeddingFrameTokens
