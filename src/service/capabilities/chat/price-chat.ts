import { contextTooLong } from '#contract/errors/errors.ts'
import { addUsd, type MicroUsd, microUsd, type PricedUnits, picoPerMicro, priceLines } from '#contract/money.ts'
import type { ChatCompletionRequest, ChatMessage, TokenUsage } from '#contract/operations/chat.ts'
import { askedTokens } from '#engines/ports/engine.ts'
import { countPromptTokens, mediaTokens } from '#engines/tokens/count-tokens.ts'
import type { Line } from '#ledger/store/units.ts'
import {
  creditParts,
  messageFrameTokens,
  type TextModel,
  type TextPrice,
  templateTokens,
  usefulCompletionTokens,
} from '../../models/model.ts'

export interface Affordable extends Offer {
  /** The offer for all available credit: how far a stream that extends its hold may go. */
  most: Offer
}

interface Offer {
  /** Covers any usage up to `maxPromptTokens` and `maxCompletionTokens`. */
  hold: MicroUsd
  /** Over all choices. */
  maxCompletionTokens: number
  maxPromptTokens: number
}

/** The amount that the minimum of this call would hold, if the available credit is less. */
interface Unaffordable {
  needed: MicroUsd
}

/**
 * Returns the lines of a charge, rounded up once over all of them; none if nothing was used. The SKU shows if we
 * counted the tokens because the engine reported none.
 */
export function chatLines(
  model: Pick<TextModel, 'price'>,
  usage: TokenUsage,
  counted: 'reported' | 'estimated' = 'reported',
): Line[] {
  const { inputPicoUsd, outputPicoUsd } = model.price
  const { cachedInputPicoUsd = inputPicoUsd, cacheWritePicoUsd } = model.price
  const { cached_tokens: read, cache_creation_input_tokens: written } = usage.prompt_tokens_details ?? {}
  const cached = Math.min(read ?? 0, usage.prompt_tokens)
  // Without a price of its own, it costs the same as other input.
  const kept = cacheWritePicoUsd === undefined ? 0 : Math.min(written ?? 0, usage.prompt_tokens - cached)
  const suffix = counted === 'estimated' ? '.estimated' : ''
  const units = [
    line(`chat.input${suffix}`, usage.prompt_tokens - cached - kept, inputPicoUsd),
    line(`chat.input.cached${suffix}`, cached, cachedInputPicoUsd),
    line(`chat.input.cache_write${suffix}`, kept, cacheWritePicoUsd ?? inputPicoUsd),
    line(`chat.output${suffix}`, usage.completion_tokens, outputPicoUsd),
  ].filter(each => each.units > 0n)
  const amounts = priceLines(units)
  return units.map((each, index) => ({ ...each, amount: amounts[index] ?? microUsd(0) }))
}

const line = (sku: string, tokens: number, unitPricePicoUsd: bigint): PricedUnits & { sku: string } => ({
  sku,
  units: BigInt(tokens),
  unitPricePicoUsd,
})

/**
 * Returns the amount that a call holds before its engine is called, and how many tokens its answer may have. A caller's
 * own maximum must be covered. Without one, the call gets what a fifth of the credit buys, or at least a useful answer,
 * and may go on to `most` if it can extend its hold. `addedBytes` is what the service may later add to the prompt.
 * Throws `contextTooLong`.
 */
export function estimateChat(
  model: TextModel,
  request: ChatCompletionRequest,
  available: MicroUsd,
  addedBytes = 0,
): Affordable | Unaffordable {
  const choices = request.n ?? 1
  const asked = askedTokens(request)
  const { maxPromptTokens, roomTokens } = promptBound(model, request, addedBytes)
  const perChoice = Math.min(model.maximumCompletionTokens, roomTokens, asked ?? Number.POSITIVE_INFINITY)
  const whole = offer(model.price, maxPromptTokens, perChoice * choices)
  if (asked !== undefined) return whole.hold <= available ? { ...whole, most: whole } : { needed: whole.hold }

  const part = microUsd(available / creditParts)
  if (whole.hold <= part) return { ...whole, most: whole }
  const least = offer(model.price, maxPromptTokens, Math.min(perChoice, usefulCompletionTokens) * choices)
  if (least.hold > available) return { needed: least.hold }
  const upTo = (amount: MicroUsd) =>
    whole.hold <= amount ? whole : offer(model.price, maxPromptTokens, tokensFor(model.price, maxPromptTokens, amount))
  const first = least.hold < part ? upTo(part) : least
  // If an answer costs nothing, there is no reason to shorten it.
  return { ...(first.hold === whole.hold ? whole : first), most: upTo(available) }
}

/**
 * Returns how far the hold of a call may grow. Text is limited by its bytes, but media files and the results of a
 * model's own search are not. With either, the engine may report a prompt that fills the context, which is charged as
 * far as the caller's credit goes.
 */
export function mostWithMedia(
  model: TextModel,
  { messages }: ChatCompletionRequest,
  held: Offer,
  isSearched = false,
): MicroUsd {
  const hasMedia = messages.some(
    ({ content }) => Array.isArray(content) && content.some((part: { type: string }) => part.type !== 'text'),
  )
  if (!hasMedia && !isSearched) return held.hold
  const { maxCompletionTokens, maxPromptTokens } = held
  return offer(model.price, Math.max(model.contextTokens, maxPromptTokens), maxCompletionTokens).hold
}

const highestInputPrice = ({ inputPicoUsd, cachedInputPicoUsd = 0n, cacheWritePicoUsd = 0n }: TextPrice): bigint =>
  [inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd].reduce((highest, each) => (each > highest ? each : highest))

function offer(price: TextPrice, maxPromptTokens: number, maxCompletionTokens: number): Offer {
  const amounts = priceLines([
    { units: BigInt(maxPromptTokens), unitPricePicoUsd: highestInputPrice(price) },
    { units: BigInt(maxCompletionTokens), unitPricePicoUsd: price.outputPicoUsd },
  ])
  return { hold: addUsd(...amounts), maxCompletionTokens, maxPromptTokens }
}

/** Returns how many completion tokens `amount` buys in addition to the prompt. */
export function tokensFor(price: TextPrice, maxPromptTokens: number, amount: MicroUsd): number {
  const left = amount * picoPerMicro - BigInt(maxPromptTokens) * highestInputPrice(price)
  return price.outputPicoUsd > 0n ? Number(left / price.outputPicoUsd) : Number.MAX_SAFE_INTEGER
}

/**
 * Returns the maximum tokens of the prompt: no byte is more than one token. The slow exact count is used only if the
 * bytes would fill the context.
 */
function promptBound(model: TextModel, request: ChatCompletionRequest, addedBytes: number) {
  const { contextTokens, maximumCompletionTokens } = model
  const bytes = promptBytes(request) + addedBytes
  const wanted = Math.min(askedTokens(request) ?? maximumCompletionTokens, maximumCompletionTokens)
  if (bytes + wanted <= contextTokens) return { maxPromptTokens: bytes, roomTokens: wanted }
  const counted = countPromptTokens(request)
  if (counted + addedBytes >= contextTokens) throw tooLong(contextTokens, counted + addedBytes)
  const likely = Math.min(bytes, templateTokens + Math.ceil(counted * otherTokenizers) + addedBytes)
  const halfOfRest = Math.ceil((contextTokens - counted - addedBytes) / 2)
  return { maxPromptTokens: Math.min(bytes, contextTokens), roomTokens: Math.max(contextTokens - likely, halfOfRest) }
}

/**
 * vLLM and SGLang refuse a call whose prompt and longest answer exceed the context together, and count the prompt with
 * the model's own tokenizer and template. Other tokenizers make up to a quarter more of English text and of code. A
 * prompt that nearly fills the context leaves half of the rest for that, because the answer needs room too.
 */
const otherTokenizers = 1.25

/** Members that control the call itself, which no template puts into a prompt. */
const besidePrompt: ReadonlySet<string> = new Set(['model', 'stream_options', 'stop'])

/** Any text from the caller may become part of the prompt, including that of unknown members. */
function promptBytes({ messages, ...rest }: ChatCompletionRequest): number {
  const texts = Object.entries(rest).filter(([name, value]) => !besidePrompt.has(name) && hasText(value))
  const beside = texts.reduce((sum, [, value]) => sum + Buffer.byteLength(JSON.stringify(value)), templateTokens)
  return messages.reduce((sum, message) => sum + messageBytes(message), beside)
}

const hasText = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null && Object.keys(value).length > 0) || typeof value === 'string'

function messageBytes(message: ChatMessage): number {
  const { content, ...rest } = message
  const frame = messageFrameTokens + Buffer.byteLength(JSON.stringify(rest))
  if (typeof content === 'string') return frame + Buffer.byteLength(content)
  return (content ?? []).reduce(
    (sum, part) => sum + (part.type === 'text' ? Buffer.byteLength(part.text) : mediaTokens(part)),
    frame,
  )
}

const tooLong = (contextTokens: number, counted: number) =>
  contextTooLong({
    error: {
      message: `The prompt has about ${counted} tokens, and this model's context has ${contextTokens}. Shorten the messages.`,
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  })
