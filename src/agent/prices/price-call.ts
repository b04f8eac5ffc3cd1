import type { Client } from '#client/client.ts'
import { type ChatCompletionRequest, createChatCompletion } from '#contract/chat.ts'
import { createEmbedding, type EmbeddingRequest } from '#contract/embeddings.ts'
import { GenerateImageRequest, generateImage, SimpleImageRequest, simpleGenerateImage } from '#contract/images.ts'
import type { ModelRecord } from '#contract/models.ts'
import { fromUsdNumber, type MicroUsd } from '#contract/money.ts'
import type { Operation } from '#contract/operation.ts'
import { queueVideo, quoteVideo, VideoQueueRequest } from '#contract/video.ts'
import { withoutHidden } from '#toolkit/from-outside.ts'
import { shownIdCharacters } from '../bounds.ts'
import { callInShort } from './call-in-short.ts'
import { chatBound } from './chat-bound.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { embeddingBound } from './embedding-bound.ts'
import { type ImageRequest, imageBound } from './image-bound.ts'
import type { ModelRecords } from './model-records.ts'
import { noSuchModel } from './no-such-model.ts'

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
  const { what, amountMicroUsd } = await priceOf(client, models, operation, body)
  return {
    what: amountMicroUsd === null ? callInShort(what, body, client.address.origin) : what,
    amountMicroUsd,
  }
}

async function priceOf(client: Client, models: ModelRecords, operation: Operation, body: unknown): Promise<PricedCall> {
  if (operation.id === createChatCompletion.id) return priceChat(models, body as ChatCompletionRequest)
  if (operation.id === queueVideo.id) return priceVideo(client, body as VideoQueueRequest)
  if (operation.id === createEmbedding.id) return priceEmbedding(models, body as EmbeddingRequest)
  if (operation.id === generateImage.id) return pricePicture(models, body as ImageRequest, GenerateImageRequest)
  if (operation.id === simpleGenerateImage.id) return pricePicture(models, body as ImageRequest, SimpleImageRequest)
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
  if (record?.type !== 'text') throw noSuchModel('text', body.model, record, records)
  return { what: `A chat with ${shownId(body.model)}`, amountMicroUsd: chatBound(record, body, records) }
}

async function priceEmbedding(models: ModelRecords, body: EmbeddingRequest): Promise<PricedCall> {
  const record = await listed('embedding', models, body.model)
  return {
    what: `Vectors by ${shownId(body.model)}`,
    amountMicroUsd: record && embeddingBound(record, body, await models.all()),
  }
}

async function pricePicture(
  models: ModelRecords,
  body: ImageRequest,
  request: typeof GenerateImageRequest | typeof SimpleImageRequest,
): Promise<PricedCall> {
  const model = body.model ?? defaultModel
  const record = await listed('image', models, model)
  return {
    what: `Pictures by ${shownId(model)}`,
    amountMicroUsd: record && imageBound(record, body, request, await models.all()),
  }
}

/** What the service takes where a request names none: a trait, so which model it is stands in no record. */
const defaultModel = 'default'

/** Null for a name that is none of the list: the service may know it as a trait, or as another provider's. */
async function listed(type: 'embedding' | 'image', models: ModelRecords, id: string): Promise<ModelRecord | null> {
  const record = (await models.all()).find(each => each.id === id) ?? null
  if (record && record.type !== type) throw noSuchModel(type, id, record, await models.all())
  return record
}

const shownId = (id: string): string => withoutHidden(id).replaceAll('\n', ' ').slice(0, shownIdCharacters)
