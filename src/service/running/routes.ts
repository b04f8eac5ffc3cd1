import {
  completeAudioRoute,
  createSpeechRoute,
  createTranscriptionRoute,
  createVoiceRoute,
  queueAudioRoute,
  quoteAudioRoute,
  retrieveAudioRoute,
} from '../capabilities/audio/routes.ts'
import {
  getBillingBalanceRoute,
  getBillingUsageAnalyticsRoute,
  getBillingUsageHistoryRoute,
  getBillingUsageRoute,
  getWalletBalanceRoute,
  getWalletTransactionsRoute,
  topUpRoute,
} from '../capabilities/billing/routes.ts'
import { getCharacterReviewsRoute, getCharacterRoute, listCharactersRoute } from '../capabilities/characters/routes.ts'
import { createChatCompletionRoute } from '../capabilities/chat/routes.ts'
import { createTextParserRoute } from '../capabilities/documents/routes.ts'
import { createEmbeddingRoute } from '../capabilities/embeddings/routes.ts'
import {
  backgroundRemoveImageRoute,
  editImageRoute,
  generateImageRoute,
  listImageStylesRoute,
  multiEditImageRoute,
  simpleGenerateImageRoute,
  upscaleImageRoute,
} from '../capabilities/images/routes.ts'
import {
  createKeyRoute,
  createWeb3KeyRoute,
  deleteKeyRoute,
  getKeyRoute,
  getRateLimitLogRoute,
  getRateLimitsRoute,
  getWeb3TokenRoute,
  listKeysRoute,
  updateKeyRoute,
} from '../capabilities/keys/routes.ts'
import {
  listModelCompatibilityMappingRoute,
  listModelsRoute,
  listModelTraitsRoute,
} from '../capabilities/models/routes.ts'
import { getReceiptKeysRoute, getReceiptRoute, listReceiptsRoute } from '../capabilities/receipts/routes.ts'
import { createResponseRoute } from '../capabilities/responses/routes.ts'
import { cryptoRpcProxyRoute, listCryptoRpcNetworksRoute } from '../capabilities/rpc/routes.ts'
import {
  completeVideoRoute,
  createVideoTranscriptionRoute,
  queueVideoRoute,
  quoteVideoRoute,
  retrieveVideoRoute,
} from '../capabilities/video/routes.ts'
import { webScrapeRoute, webSearchRoute } from '../capabilities/web/routes.ts'
import type { Route } from '../http/route.ts'

/** Each operation of the contract has its route here; a test compares the two lists. */
export const routes = [
  listModelsRoute,
  listModelTraitsRoute,
  listModelCompatibilityMappingRoute,
  createChatCompletionRoute,
  createResponseRoute,
  listCharactersRoute,
  getCharacterRoute,
  getCharacterReviewsRoute,
  createEmbeddingRoute,
  generateImageRoute,
  simpleGenerateImageRoute,
  editImageRoute,
  multiEditImageRoute,
  upscaleImageRoute,
  backgroundRemoveImageRoute,
  listImageStylesRoute,
  webSearchRoute,
  webScrapeRoute,
  createSpeechRoute,
  createTranscriptionRoute,
  createVoiceRoute,
  createTextParserRoute,
  quoteAudioRoute,
  queueAudioRoute,
  retrieveAudioRoute,
  completeAudioRoute,
  quoteVideoRoute,
  queueVideoRoute,
  retrieveVideoRoute,
  completeVideoRoute,
  createVideoTranscriptionRoute,
  listCryptoRpcNetworksRoute,
  cryptoRpcProxyRoute,
  topUpRoute,
  getWalletBalanceRoute,
  getWalletTransactionsRoute,
  getRateLimitsRoute,
  getRateLimitLogRoute,
  listKeysRoute,
  createKeyRoute,
  updateKeyRoute,
  deleteKeyRoute,
  getWeb3TokenRoute,
  createWeb3KeyRoute,
  getKeyRoute,
  getBillingBalanceRoute,
  getBillingUsageRoute,
  getBillingUsageHistoryRoute,
  getBillingUsageAnalyticsRoute,
  getReceiptKeysRoute,
  listReceiptsRoute,
  getReceiptRoute,
] as unknown as readonly Route[]
