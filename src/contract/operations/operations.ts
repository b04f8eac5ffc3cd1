import {
  completeAudio,
  createSpeech,
  createTranscription,
  createVoice,
  queueAudio,
  quoteAudio,
  retrieveAudio,
} from './audio.ts'
import { getBillingBalance, getBillingUsage, getBillingUsageAnalytics, getBillingUsageHistory } from './billing.ts'
import { getCharacter, getCharacterReviews, listCharacters } from './characters.ts'
import { createChatCompletion } from './chat.ts'
import { createTextParser } from './documents.ts'
import { createEmbedding } from './embeddings.ts'
import {
  backgroundRemoveImage,
  editImage,
  generateImage,
  listImageStyles,
  multiEditImage,
  simpleGenerateImage,
  upscaleImage,
} from './images.ts'
import { createKey, createWeb3Key, deleteKey, getKey, getWeb3Token, listKeys, updateKey } from './keys.ts'
import { listModelCompatibilityMapping, listModels, listModelTraits } from './models.ts'
import type { Operation } from './operation.ts'
import { getRateLimitLog, getRateLimits } from './rate-limits.ts'
import { getReceipt, getReceiptKeys, listReceipts } from './receipts.ts'
import { createResponse } from './responses.ts'
import { cryptoRpcProxy, listCryptoRpcNetworks } from './rpc.ts'
import { completeVideo, createVideoTranscription, queueVideo, quoteVideo, retrieveVideo } from './video.ts'
import { getWalletBalance, getWalletTransactions, topUp } from './wallet.ts'
import { webScrape, webSearch } from './web.ts'

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
