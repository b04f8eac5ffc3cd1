import { addUsd, type MicroUsd, priceLines, pricePerMillion } from '#contract/money.ts'
import type { ChatCompletionRequest, ChatMessage, ContentPart } from '#contract/operations/chat.ts'
import { EmbeddingRequest } from '#contract/operations/embeddings.ts'
import { type ModelRecord, tokenPricing } from '#contract/operations/models.ts'
import { type InputItem, type InputPart, ResponsesRequest } from '#contract/operations/responses.ts'
import { embeddingFrameTokens, messageTokens, responseItemTokens, templateTokens } from '../bounds.ts'
import { askedModels, mostOfAsked, shownModel } from './asked-models.ts'
import { hasBilledOptions, hasCharacter, hasLongCache, hasOtherMembers, hasUnboundedExtras } from './chat-extras.ts'
import type { ModelRecords } from './model-records.ts'
import { mostOf, mostOfAnswering, type Pricer } from './priced-call.ts'

/**
 * The most that a chat can cost: a token is a byte at least, answers end at their limit, of several prices of one kind the
 * dearest is taken, and of several models that may answer the dearest one. Null where it cannot be said: no price, no
 * limit, or a member that may cost more. `records` are all of the service's, for a model that another one may stand in for.
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
  // Which of two limits a service obeys is not said, so the larger counts.
  const asked = Math.max(body.max_completion_tokens ?? 0, body.max_tokens ?? 0)
  return answerBound(record, sent, { most: asked, answers: body.n ?? 1 })
}

/** What is sent to a model. */
interface SentText {
  /** Of all of it, with what is written round its parts. */
  bytes: number
  /** The data of media that are among these bytes. */
  media: readonly string[]
  /** The service puts a text before it whose length only the context bounds. */
  hasUnknownText: boolean
}

/** The most that so much text in and so many answers of at most so many tokens cost; 0 is no limit of the caller's. */
function answerBound(
  record: ModelRecord,
  sent: SentText,
  { most, answers }: { most: number; answers: number },
): MicroUsd | null {
  const prices = dearestPrices(record)
  const input = inputTokens(record, sent)
  const output = outputTokens(record, most, answers)
  if (!prices || input === null || output === null) return null
  const lines = [
    { units: input, unitPricePicoUsd: prices.input },
    { units: output, unitPricePicoUsd: prices.output },
  ]
  return addUsd(...priceLines(lines))
}

interface DearestPrices {
  /** Pico-USD a token. */
  input: bigint
  output: bigint
}

/** Whether a text is read, written into a cache or long, is the service's to say. */
function dearestPrices({ model_spec: spec }: ModelRecord): DearestPrices | null {
  const prices = tokenPricing(spec.pricing)
  if (!prices) return null
  const tiers = prices.extended ? [prices, prices.extended] : [prices]
  const input = dearest(tiers.flatMap(tier => [tier.input, tier.cache_input, tier.cache_write]))
  const output = dearest(tiers.map(tier => tier.output))
  return input === null || output === null ? null : { input, output }
}

/** Null where one of them cannot be read: it may be the dearest. */
function dearest(prices: readonly ({ usd: number } | undefined)[]): bigint | null {
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
  // A record's zero is no limit that anyone could have meant.
  const limit = most || spec.maxCompletionTokens || spec.availableContextTokens
  return limit ? BigInt(limit) * BigInt(answers) : null
}

/**
 * Bytes of all that is sent, because members that we do not read may become part of the prompt as well, and what the
 * service may put before it. Only media are counted otherwise: their data URLs are long, and their tokens are what the
 * service says, which only the context bounds.
 */
function inputTokens({ model_spec: spec }: ModelRecord, { bytes, media, hasUnknownText }: SentText): bigint | null {
  const counted = templateTokens + bytes - media.reduce((sum, data) => sum + bytesOf(data), 0)
  if (media.length === 0 && !hasUnknownText) return BigInt(counted)
  return spec.availableContextTokens ? BigInt(Math.max(spec.availableContextTokens, counted)) : null
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** The data of media, at the exact places of the contract's parts and nowhere else. */
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
