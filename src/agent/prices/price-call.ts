import type { Client } from '#client/client.ts'
import { createSpeech, createTranscription, queueAudio } from '#contract/operations/audio.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { createTextParser } from '#contract/operations/documents.ts'
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
import { cryptoRpcProxy } from '#contract/operations/rpc.ts'
import { queueVideo } from '#contract/operations/video.ts'
import { createVideoTranscription } from '#contract/operations/video-transcription.ts'
import { webScrape, webSearch } from '#contract/operations/web.ts'
import type { ModelRecords } from './model-records.ts'
import { priceDocument, priceRpc, priceScrape, priceSearch, priceVideoTranscript } from './price-look-ups.ts'
import { priceBackground, priceEdit, priceOwnPictures, priceSimplePictures, priceUpscale } from './price-pictures.ts'
import { priceMusic, priceSpeech, priceTranscription } from './price-sound.ts'
import { priceChat, priceEmbedding, priceResponse } from './price-text.ts'
import { priceVideo } from './price-video.ts'
import type { PricedCall, Pricer } from './priced-call.ts'

/** How each operation that costs is named and priced. */
export const pricers: ReadonlyMap<Operation['id'], Pricer> = new Map<Operation['id'], Pricer>([
  [createChatCompletion.id, priceChat],
  [createResponse.id, priceResponse],
  [createEmbedding.id, priceEmbedding],
  [generateImage.id, priceOwnPictures],
  [simpleGenerateImage.id, priceSimplePictures],
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

/** What a paid call costs, asked before anything is sent. Throws what the service answers to a wrong one. */
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
