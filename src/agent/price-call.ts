import type { Client } from '#client/client.ts'
import { type ChatCompletionRequest, createChatCompletion } from '#contract/chat.ts'
import { tokenPricing } from '#contract/model-pricing.ts'
import type { ModelRecord } from '#contract/models.ts'
import { fromUsdNumber, type MicroUsd, priceLines, pricePerMillion, zeroUsd } from '#contract/money.ts'
import type { Operation } from '#contract/operation.ts'
import { queueVideo, quoteVideo, type VideoQueueRequest } from '#contract/video.ts'
import { strangeId, withoutHidden } from '#toolkit/from-outside.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { messageTokens, nearModels, pictureTokens, shownIdCharacters } from './bounds.ts'
import type { ModelRecords } from './model-records.ts'
import { nearNames } from './near-names.ts'

export interface PricedCall {
  /** What would be bought, in our words. */
  what: string
  /** What it costs, or the most that it can cost; null where that cannot be said beforehand. */
  amountMicroUsd: MicroUsd | null
}

/** What a paid call costs, asked before anything is sent. Throws what the service answers to a wrong one. */
export async function priceCall(
  client: Client,
  models: ModelRecords,
  operation: Operation,
  body: unknown,
): Promise<PricedCall> {
  if (operation.id === createChatCompletion.id) return priceChat(models, body as ChatCompletionRequest)
  if (operation.id === queueVideo.id) return priceVideo(client, body as VideoQueueRequest)
  return { what: operation.summary, amountMicroUsd: null }
}

async function priceVideo(client: Client, body: VideoQueueRequest): Promise<PricedCall> {
  const { model, duration, aspect_ratio, resolution, upscale_factor, audio, video_url } = body
  const choices = { model, duration, aspect_ratio, resolution, upscale_factor, audio, video_url }
  const { answer } = await client.call(quoteVideo, { params: undefined, query: undefined, body: choices })
  const quote = fromUsdNumber(answer.quote)
  const what = `A video of ${duration} by ${shownId(model)}`
  return { what, amountMicroUsd: quote !== null && quote >= 0n ? quote : null }
}

async function priceChat(models: ModelRecords, body: ChatCompletionRequest): Promise<PricedCall> {
  const record = await models.find(body.model)
  if (!record) throw noSuchModel(body.model, await models.all())
  return { what: `A chat with ${shownId(body.model)}`, amountMicroUsd: chatBound(record, body) }
}

function noSuchModel(id: string, records: readonly ModelRecord[]): ToolFailure {
  const chats = records.filter(({ type }) => type === 'text').map(({ id: name }) => strangeId(name, shownIdCharacters))
  const near = nearNames(id, chats, nearModels)
  return new ToolFailure({
    happened: `The service has no model ${strangeId(id, shownIdCharacters)}.`,
    charged: zeroUsd,
    next:
      near.length > 0
        ? `Similar ones are ${near.join(', ')}; models_find has them all.`
        : 'Look at models_find for ids.',
  })
}

/** The most that a chat can cost: a token is a byte at least, and answers end at their limit. */
export function chatBound({ model_spec: spec }: ModelRecord, body: ChatCompletionRequest): MicroUsd | null {
  const prices = tokenPricing(spec.pricing)
  const input = prices && pricePerMillion(String(prices.input.usd))
  const output = prices && pricePerMillion(String(prices.output.usd))
  const limit = body.max_completion_tokens ?? body.max_tokens ?? spec.maxCompletionTokens ?? spec.availableContextTokens
  if (input == null || output == null || limit === undefined) return null
  const lines = [
    { units: BigInt(inputTokens(body)), unitPricePicoUsd: input },
    { units: BigInt(limit) * BigInt(body.n ?? 1), unitPricePicoUsd: output },
  ]
  return priceLines(lines).reduce((sum, amount) => (sum + amount) as MicroUsd)
}

/** Bytes of all text, and a fixed number for each piece of media, whose data URL is long and whose tokens are not. */
function inputTokens({ messages, tools, response_format }: ChatCompletionRequest): number {
  let media = 0
  const text = JSON.stringify([messages, tools, response_format], (name, value: unknown) => {
    if ((name !== 'url' && name !== 'data' && name !== 'file_data') || typeof value !== 'string') return value
    media++
    return ''
  })
  return Buffer.byteLength(text) + messages.length * messageTokens + media * pictureTokens
}

const shownId = (id: string): string => withoutHidden(id).replaceAll('\n', ' ').slice(0, shownIdCharacters)
