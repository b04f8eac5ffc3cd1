import type { Client } from '#client/client.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { fromUsdNumber, type MicroUsd, microUsd } from '#contract/money.ts'
import { createSpeech, createTranscription, queueAudio } from '#contract/operations/audio.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { createTextParser, TextParserRequest } from '#contract/operations/documents.ts'
import { createEmbedding } from '#contract/operations/embeddings.ts'
import {
  backgroundRemoveImage,
  editImage,
  generateImage,
  multiEditImage,
  simpleGenerateImage,
  upscaleImage,
} from '#contract/operations/images.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { createResponse } from '#contract/operations/responses.ts'
import { cryptoRpcProxy, type RpcRequest, rpcCredits } from '#contract/operations/rpc.ts'
import {
  createVideoTranscription,
  queueVideo,
  quoteVideo,
  VideoQueueRequest,
  VideoTranscriptionRequest,
} from '#contract/operations/video.ts'
import { augmentMicroUsd, WebScrapeRequest, WebSearchRequest, webScrape, webSearch } from '#contract/operations/web.ts'
import { wantsCredit } from '../words/explain.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { type ModelRecords, shownModel } from './model-records.ts'
import { priceMusic, priceSpeech, priceTranscription } from './price-audio.ts'
import { priceBackground, priceEdit, priceImages, priceSimpleImages, priceUpscale } from './price-images.ts'
import { priceChat, priceEmbedding, priceResponse } from './price-text.ts'
import { type PricedCall, type Pricer, unitsAt } from './priced-call.ts'

const priceVideo: Pricer = async ({ client }, call) => {
  const asked = call as VideoQueueRequest
  const what = `A video of ${asked.duration} by ${shownModel(asked.model)}`
  if (costsMoreThanQuoted(asked)) return { what, amountMicroUsd: null }
  const { model, duration, aspect_ratio, resolution, upscale_factor, audio, video_url } = asked
  const body = { model, duration, aspect_ratio, resolution, upscale_factor, audio, video_url }
  const quoting = client.call(quoteVideo, { params: undefined, query: undefined, body })
  const quoted = await quoting.catch((error: unknown) => {
    // A service fetches a video only for callers with credit; the call itself then reports what is missing.
    if (error instanceof ServiceError && wantsCredit(error)) return null
    throw error
  })
  const quote = quoted && fromUsdNumber(quoted.answer.quote)
  return { what, amountMicroUsd: quote !== null && quote >= 0n ? quote : null }
}

/** A quote needs the length of the reference videos, which is unknown here, and accepts no other members. */
const costsMoreThanQuoted = (body: VideoQueueRequest): boolean =>
  hasOtherMembers(body, VideoQueueRequest.shape) ||
  Boolean(body.reference_video_urls?.length) ||
  Boolean(body.elements?.some(element => hasOtherMembers(element, imageMembers)))

/** Members of an element that are images; any other is a video, or unknown. */
const imageMembers = { frontal_image_url: true, reference_image_urls: true }

/** Operations with a fixed price in the contract (published contract §15). */
const onePiece =
  (what: string, { shape }: { shape: object }): Pricer =>
  async (_parts, call) => ({
    what,
    amountMicroUsd: hasOtherMembers(call as object, shape) ? null : microUsd(augmentMicroUsd),
  })

const priceSearch = onePiece('A web search', WebSearchRequest)
const priceScrape = onePiece('A web page', WebScrapeRequest)
const priceDocument = onePiece('The text of a document', TextParserRequest)
const priceVideoTranscript = onePiece('The transcript of a video', VideoTranscriptionRequest)

const priceRpc: Pricer = async (_parts, call) => {
  const calls = [call as RpcRequest].flat()
  return {
    what: calls.length === 1 ? 'A call to a blockchain node' : `${calls.length} calls to a blockchain node`,
    amountMicroUsd: rpcBound(call as RpcRequest),
  }
}

/**
 * Returns the maximum cost of node calls. The service decides which method has which tier, so each call counts as the
 * most expensive.
 */
const rpcBound = (body: RpcRequest): MicroUsd | null =>
  unitsAt([body].flat().length * rpcCredits.mostBase * rpcCredits.mostTier, rpcCredits.picoUsd)

/** How each paid operation is named and priced. */
export const pricers: ReadonlyMap<Operation['id'], Pricer> = new Map<Operation['id'], Pricer>([
  [createChatCompletion.id, priceChat],
  [createResponse.id, priceResponse],
  [createEmbedding.id, priceEmbedding],
  [generateImage.id, priceImages],
  [simpleGenerateImage.id, priceSimpleImages],
  [editImage.id, priceEdit],
  [multiEditImage.id, priceEdit],
  [upscaleImage.id, priceUpscale],
  [backgroundRemoveImage.id, priceBackground],
  [createSpeech.id, priceSpeech],
  [createTranscription.id, priceTranscription],
  [queueAudio.id, priceMusic],
  [queueVideo.id, priceVideo],
  [webSearch.id, priceSearch],
  [webScrape.id, priceScrape],
  [createTextParser.id, priceDocument],
  [createVideoTranscription.id, priceVideoTranscript],
  [cryptoRpcProxy.id, priceRpc],
])

/** Returns what a paid call costs, before anything is sent. Throws the service's answer to an invalid one. */
export async function priceCall(
  client: Client,
  models: ModelRecords,
  { id }: Pick<Operation, 'id'>,
  body: unknown,
): Promise<PricedCall> {
  const pricer = pricers.get(id)
  if (!pricer) throw new Error(`Nothing here prices the operation ${id}.`)
  return pricer({ client, models }, body)
}
