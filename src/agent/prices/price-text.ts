import { addUsd, type MicroUsd, priceLines, pricePerMillion } from '#contract/money.ts'
import type { ChatCompletionRequest, ChatMessage, ContentPart } from '#contract/operations/chat.ts'
import { EmbeddingRequest } from '#contract/operations/embeddings.ts'
import { type ModelRecord, tokenPricing } from '#contract/operations/models.ts'
import { type InputItem, type InputPart, ResponsesRequest } from '#contract/operations/responses.ts'
import { embeddingFrameTokens, messageTokens, responseItemTokens, templateTokens } from '../bounds.ts'
import { hasBilledOptions, hasCharacter, hasLongCache, hasOtherMembers, hasUnboundedExtras } from './chat-extras.ts'
import { askedModels, type ModelRecords, mostOfAsked, shownModel } from './model-records.ts'
import { mostOf, mostOfAnswering, type Pricer } from './priced-call.ts'

/**
 * Returns the maximum cost of a chat. A token is at least one byte, and answers end at their limit. If there are
 * several prices of one kind, or several models may answer, the most expensive counts. Null if it is unknown: no price,
 * no limit, or a member that may cost more. `records` are all of the service's, for models that may replace another.
 */
export function chatBound(
  record: ModelRecord,
  body: ChatCompletionRequest,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasUnboundedExtras(record, body)) return null
  const sent = {
    bytes: bytesOf(body) + body.messages.length * messageTokens,
    media: body.messages.flatMap(mediaOfMessage),
    hasUnknownText: hasCharacter(record, body),
  }
  return mostOfAnswering(record, records, model => boundAt(model, body, sent))
}

function boundAt(record: ModelRecord, body: ChatCompletionRequest, sent: SentText): MicroUsd | null {
  // It is not specified which of two limits a service obeys, so the larger counts.
  const asked = Math.max(body.max_completion_tokens ?? 0, body.max_tokens ?? 0)
  return answerBound(record, sent, { most: asked, answers: body.n ?? 1 })
}

/** The text that is sent to a model. */
interface SentText {
  /** All of it, including what is added around its parts. */
  bytes: number
  /** The data of media among these bytes. */
  media: readonly string[]
  /** The service adds text before it, whose length is limited only by the context. */
  hasUnknownText: boolean
}

/**
 * Returns the maximum cost of this much input and this many answers with at most this many tokens; 0 means that the
 * caller set no limit.
 */
function answerBound(
  record: ModelRecord,
  sent: SentText,
  { most, answers }: { most: number; answers: number },
): MicroUsd | null {
  const prices = highestPrices(record)
  const input = inputTokens(record, sent)
  const output = outputTokens(record, most, answers)
  if (!prices || input === null || output === null) return null
  const lines = [
    { units: input, unitPricePicoUsd: prices.input },
    { units: output, unitPricePicoUsd: prices.output },
  ]
  return addUsd(...priceLines(lines))
}

interface HighestPrices {
  /** Pico-USD per token. */
  input: bigint
  output: bigint
}

/** The service decides whether input is read, written into a cache or long, so the highest price counts. */
function highestPrices({ model_spec: spec }: ModelRecord): HighestPrices | null {
  const prices = tokenPricing(spec.pricing)
  if (!prices) return null
  const tiers = prices.extended ? [prices, prices.extended] : [prices]
  const input = highest(tiers.flatMap(tier => [tier.input, tier.cache_input, tier.cache_write]))
  const output = highest(tiers.map(tier => tier.output))
  return input === null || output === null ? null : { input, output }
}

/** Returns null if one of them cannot be parsed, because it may be the highest. */
function highest(prices: readonly ({ usd: number } | undefined)[]): bigint | null {
  let most = 0n
  for (const price of prices) {
    if (!price) continue
    const picoUsd = pricePerMillion(String(price.usd))
    if (picoUsd === null) return null
    if (picoUsd > most) most = picoUsd
  }
  return most
}

function outputTokens({ model_spec: spec }: ModelRecord, most: number, answers: number): bigint | null {
  // A limit of zero in a record means that none is given.
  const limit = most || spec.maxCompletionTokens || spec.availableContextTokens
  return limit ? BigInt(limit) * BigInt(answers) : null
}

/**
 * Counts the bytes of everything that is sent, because members that we do not parse may also become part of the prompt,
 * and the text that the service may add before it. Only media are counted differently: their data URLs are long, and
 * the service decides about their tokens, which are limited only by the context.
 */
function inputTokens({ model_spec: spec }: ModelRecord, { bytes, media, hasUnknownText }: SentText): bigint | null {
  const counted = templateTokens + bytes - media.reduce((sum, data) => sum + bytesOf(data), 0)
  if (media.length === 0 && !hasUnknownText) return BigInt(counted)
  return spec.availableContextTokens ? BigInt(Math.max(spec.availableContextTokens, counted)) : null
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Returns the media data from exactly those members that the contract defines. */
const mediaOfMessage = ({ content }: ChatMessage): string[] =>
  Array.isArray(content) ? content.map(mediaOfPart).filter(data => data !== null) : []

function mediaOfPart(part: ContentPart): string | null {
  switch (part.type) {
    case 'text':
      return null
    case 'image_url':
      return part.image_url.url
    case 'input_audio':
      return part.input_audio.data
    case 'video_url':
      return part.video_url.url
    case 'file':
      return part.file.file_data
  }
}

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
    what: `Embeddings by ${shownModel(body.model)}`,
    amountMicroUsd: await mostOfAsked(models, 'embedding', body.model, (record, all) =>
      embeddingBound(record, body, all),
    ),
  }
}

/** Keeps the options after the name, behind the id of each model that may answer. */
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

/**
 * Returns the maximum cost of an answer in the shape of OpenAI's Responses: that of the same chat. Null if a chat's is
 * unknown.
 */
export function responseBound(
  record: ModelRecord,
  body: ResponsesRequest,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasUnbounded(record, body)) return null
  const items = typeof body.input === 'string' ? [] : body.input
  // Instructions, and an input that is a single text, are messages too.
  const pieces = items.length + (body.tools?.length ?? 0) + 2
  const sent = {
    bytes: bytesOf(body) + pieces * responseItemTokens,
    media: items.flatMap(mediaOfItem),
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

function mediaOfItem(item: InputItem): string[] {
  const parts =
    item.type === 'function_call_output' ? item.output : !item.type || item.type === 'message' ? item.content : []
  return Array.isArray(parts) ? parts.map(mediaOfInput).filter(data => data !== null) : []
}

function mediaOfInput(part: InputPart): string | null {
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
 * Returns the maximum cost of vectors: a byte of text is at most one token, a token is one, and a model adds some to
 * each input. Null if it is unknown: no price, or a member that may cost more.
 */
export function embeddingBound(
  record: ModelRecord,
  body: EmbeddingRequest,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, EmbeddingRequest.shape)) return null
  const units = BigInt(mostTokens(body.input))
  return mostOfAnswering(record, records, model => {
    const prices = highestPrices(model)
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
