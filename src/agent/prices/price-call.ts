import type { Client } from '#client/client.ts'
import { queueAudio } from '#contract/audio-jobs.ts'
import { webScrape, webSearch } from '#contract/augment.ts'
import { createChatCompletion } from '#contract/chat.ts'
import { cryptoRpcProxy } from '#contract/crypto-rpc.ts'
import { createEmbedding } from '#contract/embeddings.ts'
import { backgroundRemoveImage, editImage, multiEditImage, upscaleImage } from '#contract/image-edits.ts'
import { generateImage, simpleGenerateImage } from '#contract/images.ts'
import type { Operation } from '#contract/operation.ts'
import { createResponse } from '#contract/responses.ts'
import { createSpeech } from '#contract/speech.ts'
import { createTextParser } from '#contract/text-parser.ts'
import { createTranscription } from '#contract/transcription.ts'
import { queueVideo } from '#contract/video.ts'
import { createVideoTranscription } from '#contract/video-transcription.ts'
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
