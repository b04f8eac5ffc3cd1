import type { Client } from '#client/client.ts'
import { type ChatCompletionRequest, createChatCompletion } from '#contract/chat.ts'
import { fromUsdNumber, type MicroUsd } from '#contract/money.ts'
import type { Operation } from '#contract/operation.ts'
import { queueVideo, quoteVideo, VideoQueueRequest } from '#contract/video.ts'
import { withoutHidden } from '#toolkit/from-outside.ts'
import { shownIdCharacters } from './bounds.ts'
import { chatBound } from './chat-bound.ts'
import { hasOtherMembers } from './chat-extras.ts'
import type { ModelRecords } from './model-records.ts'
import { noTextModel } from './no-such-model.ts'

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
  const what = `A video of ${body.duration} by ${shownId(body.model)}`
  if (costsMoreThanQuoted(body)) return { what, amountMicroUsd: null }
  const { model, duration, aspect_ratio, resolution, upscale_factor, audio, video_url } = body
  const choices = { model, duration, aspect_ratio, resolution, upscale_factor, audio, video_url }
  const { answer } = await client.call(quoteVideo, { params: undefined, query: undefined, body: choices })
  const quote = fromUsdNumber(answer.quote)
  return { what, amountMicroUsd: quote !== null && quote >= 0n ? quote : null }
}

/** A quote wants the length of the reference videos, which nobody here knows, and takes no other members. */
const costsMoreThanQuoted = (body: VideoQueueRequest): boolean =>
  hasOtherMembers(body, VideoQueueRequest.shape) ||
  Boolean(body.reference_video_urls?.length) ||
  Boolean(body.elements?.some(element => hasOtherMembers(element, pictureMembers)))

/** Members of an element that are pictures; any other is a video, or unknown. */
const pictureMembers = { frontal_image_url: true, reference_image_urls: true }

async function priceChat(models: ModelRecords, body: ChatCompletionRequest): Promise<PricedCall> {
  const record = await models.find(body.model)
  const records = await models.all()
  if (record?.type !== 'text') throw noTextModel(body.model, record, records)
  return { what: `A chat with ${shownId(body.model)}`, amountMicroUsd: chatBound(record, body, records) }
}

const shownId = (id: string): string => withoutHidden(id).replaceAll('\n', ' ').slice(0, shownIdCharacters)
