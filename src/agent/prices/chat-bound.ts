import { addUsd, type MicroUsd, priceLines, pricePerMillion } from '#contract/money.ts'
import type { ChatCompletionRequest, ChatMessage, ContentPart } from '#contract/operations/chat.ts'
import { type ModelRecord, tokenPricing } from '#contract/operations/models.ts'
import { messageTokens, templateTokens } from '../bounds.ts'
import { hasCharacter, hasUnboundedExtras } from './chat-extras.ts'
import { mostOfAnswering } from './priced-call.ts'

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
    media: body.messages.flatMap(mediaOf),
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
export interface SentText {
  /** Of all of it, with what is written round its parts. */
  bytes: number
  /** The data of media that are among these bytes. */
  media: readonly string[]
  /** The service puts a text before it whose length only the context bounds. */
  hasUnknownText: boolean
}

/** The most that so much text in and so many answers of at most so many tokens cost; 0 is no limit of the caller's. */
export function answerBound(
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
export function dearestPrices({ model_spec: spec }: ModelRecord): DearestPrices | null {
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
  // A record's zero is no limit that anybody could have meant.
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

export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** The data of media, at the exact places of the contract's parts and nowhere else. */
const mediaOf = ({ content }: ChatMessage): string[] =>
  Array.isArray(content) ? content.map(mediumOf).filter(data => data !== null) : []

function mediumOf(part: ContentPart): string | null {
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
