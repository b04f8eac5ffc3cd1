import type { ChatCompletionRequest } from '#contract/chat.ts'
import type { ChatMessage, ContentPart } from '#contract/chat-message.ts'
import { tokenPricing } from '#contract/model-pricing.ts'
import type { ModelRecord } from '#contract/models.ts'
import { addUsd, type MicroUsd, priceLines, pricePerMillion } from '#contract/money.ts'
import { messageTokens, pictureTokens } from './bounds.ts'
import { hasUnboundedExtras } from './chat-extras.ts'

/**
 * The most that a chat can cost: a token is a byte at least, answers end at their limit, and of several prices of one
 * kind the dearest is taken. Null where it cannot be said: no price, no limit, or a member that may cost more.
 */
export function chatBound(record: ModelRecord, body: ChatCompletionRequest): MicroUsd | null {
  const prices = dearestPrices(record)
  const input = inputTokens(record, body)
  const output = outputTokens(record, body)
  if (!prices || input === null || output === null || hasUnboundedExtras(record, body)) return null
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

/** Whether a prompt is read, written into a cache or long, is the service's to say. */
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

/** Which of two limits a service obeys is not said, so the larger counts. */
function outputTokens({ model_spec: spec }: ModelRecord, body: ChatCompletionRequest): bigint | null {
  const asked = Math.max(body.max_completion_tokens ?? 0, body.max_tokens ?? 0)
  // A record's zero is no limit that anybody could have meant.
  const limit = asked || spec.maxCompletionTokens || spec.availableContextTokens
  return limit ? BigInt(limit) * BigInt(body.n ?? 1) : null
}

/**
 * Bytes of all that is sent, because members that we do not read may become part of the prompt as well. Only the media
 * themselves are counted otherwise, because their data URLs are long and their tokens are not.
 */
function inputTokens({ model_spec: spec }: ModelRecord, body: ChatCompletionRequest): bigint | null {
  const media = body.messages.flatMap(mediaOf)
  const blank = media.reduce((sum, { data }) => sum + bytesOf(data), 0)
  const pictures = media.filter(({ isPicture }) => isPicture).length
  const counted = bytesOf(body) - blank + body.messages.length * messageTokens + pictures * pictureTokens
  if (pictures === media.length) return BigInt(counted)
  return spec.availableContextTokens ? BigInt(Math.max(spec.availableContextTokens, counted)) : null
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

interface Medium {
  /** What is not counted by its bytes. */
  data: string
  /** Of a fixed number of tokens; nobody can bound those of sound, films and files but by the context. */
  isPicture: boolean
}

/** At the exact places of the contract's parts, and nowhere else. */
const mediaOf = ({ content }: ChatMessage): Medium[] =>
  Array.isArray(content) ? content.map(mediumOf).filter(medium => medium !== null) : []

function mediumOf(part: ContentPart): Medium | null {
  switch (part.type) {
    case 'text':
      return null
    case 'image_url':
      return { data: pictureData(part.image_url.url), isPicture: true }
    case 'input_audio':
      return { data: part.input_audio.data, isPicture: false }
    case 'video_url':
      return { data: part.video_url.url, isPicture: false }
    case 'file':
      return { data: part.file.file_data, isPicture: false }
  }
}

/** What is no picture's data may be read as text. */
const pictureData = (url: string): string => (/^data:image\//i.test(url) ? url : '')
