import { createKey, deleteKey, getKey, listKeys, updateKey } from './api-keys.ts'
import { completeAudio, queueAudio, quoteAudio, retrieveAudio } from './audio-jobs.ts'
import { webScrape, webSearch } from './augment.ts'
import { getBillingBalance, getBillingUsage, getBillingUsageAnalytics, getBillingUsageHistory } from './billing.ts'
import { getCharacter, getCharacterReviews, listCharacters } from './characters.ts'
import { createChatCompletion } from './chat.ts'
import { cryptoRpcProxy, listCryptoRpcNetworks } from './crypto-rpc.ts'
import { createEmbedding } from './embeddings.ts'
import { backgroundRemoveImage, editImage, multiEditImage, upscaleImage } from './image-edits.ts'
import { generateImage, listImageStyles, simpleGenerateImage } from './images.ts'
import { listModelCompatibilityMapping, listModels, listModelTraits } from './models.ts'
import type { Operation } from './operation.ts'
import { getRateLimitLog, getRateLimits } from './rate-limits.ts'
import { getReceipt, getReceiptKeys, listReceipts } from './receipts.ts'
import { createResponse } from './responses.ts'
import { createSpeech, createVoice } from './speech.ts'
import { createTextParser } from './text-parser.ts'
import { topUp } from './top-up.ts'
import { createTranscription } from './transcription.ts'
import { completeVideo, queueVideo, quoteVideo, retrieveVideo } from './video.ts'
import { createVideoTranscription } from './video-transcription.ts'
import { getWalletBalance, getWalletTransactions } from './wallet-records.ts'
import { createWeb3Key, getWeb3Token } from './web3-key.ts'

/** Every operation of the API, in the order in which the description prints them. */
export const operations = [
  listModels,
  listModelTraits,
  listModelCompatibilityMapping,
  createChatCompletion,
  createResponse,
  listCharacters,
  getCharacter,
  getCharacterReviews,
  createEmbedding,
  generateImage,
  simpleGenerateImage,
  editImage,
  multiEditImage,
  upscaleImage,
  backgroundRemoveImage,
  listImageStyles,
  webSearch,
  webScrape,
  createSpeech,
  createTranscription,
  createVoice,
  createTextParser,
  quoteAudio,
  queueAudio,
  retrieveAudio,
  completeAudio,
  quoteVideo,
  queueVideo,
  retrieveVideo,
  completeVideo,
  createVideoTranscription,
  listCryptoRpcNetworks,
  cryptoRpcProxy,
  topUp,
  getWalletBalance,
  getWalletTransactions,
  getRateLimits,
  getRateLimitLog,
  listKeys,
  createKey,
  updateKey,
  deleteKey,
  getWeb3Token,
  createWeb3Key,
  getKey,
  getBillingBalance,
  getBillingUsage,
  getBillingUsageHistory,
  getBillingUsageAnalytics,
  getReceiptKeys,
  listReceipts,
  getReceipt,
] as const satisfies readonly Operation[]
