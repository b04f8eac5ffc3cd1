import type { Route } from './route.ts'
import { backgroundRemoveImageRoute } from './routes/background-remove-image.ts'
import { completeAudioRoute } from './routes/complete-audio.ts'
import { completeVideoRoute } from './routes/complete-video.ts'
import { createChatCompletionRoute } from './routes/create-chat-completion.ts'
import { createEmbeddingRoute } from './routes/create-embedding.ts'
import { createKeyRoute } from './routes/create-key.ts'
import { createResponseRoute } from './routes/create-response.ts'
import { createSpeechRoute } from './routes/create-speech.ts'
import { createTextParserRoute } from './routes/create-text-parser.ts'
import { createTranscriptionRoute } from './routes/create-transcription.ts'
import { createVideoTranscriptionRoute } from './routes/create-video-transcription.ts'
import { createVoiceRoute } from './routes/create-voice.ts'
import { createWeb3KeyRoute } from './routes/create-web3-key.ts'
import { cryptoRpcProxyRoute } from './routes/crypto-rpc-proxy.ts'
import { deleteKeyRoute } from './routes/delete-key.ts'
import { editImageRoute } from './routes/edit-image.ts'
import { generateImageRoute } from './routes/generate-image.ts'
import { getBillingBalanceRoute } from './routes/get-billing-balance.ts'
import { getBillingUsageRoute } from './routes/get-billing-usage.ts'
import { getBillingUsageAnalyticsRoute } from './routes/get-billing-usage-analytics.ts'
import { getBillingUsageHistoryRoute } from './routes/get-billing-usage-history.ts'
import { getCharacterRoute } from './routes/get-character.ts'
import { getCharacterReviewsRoute } from './routes/get-character-reviews.ts'
import { getKeyRoute } from './routes/get-key.ts'
import { getRateLimitLogRoute } from './routes/get-rate-limit-log.ts'
import { getRateLimitsRoute } from './routes/get-rate-limits.ts'
import { getReceiptRoute } from './routes/get-receipt.ts'
import { getReceiptKeysRoute } from './routes/get-receipt-keys.ts'
import { getWalletBalanceRoute } from './routes/get-wallet-balance.ts'
import { getWalletTransactionsRoute } from './routes/get-wallet-transactions.ts'
import { getWeb3TokenRoute } from './routes/get-web3-token.ts'
import { listCharactersRoute } from './routes/list-characters.ts'
import { listCryptoRpcNetworksRoute } from './routes/list-crypto-rpc-networks.ts'
import { listImageStylesRoute } from './routes/list-image-styles.ts'
import { listKeysRoute } from './routes/list-keys.ts'
import { listModelCompatibilityMappingRoute } from './routes/list-model-compatibility-mapping.ts'
import { listModelTraitsRoute } from './routes/list-model-traits.ts'
import { listModelsRoute } from './routes/list-models.ts'
import { listReceiptsRoute } from './routes/list-receipts.ts'
import { multiEditImageRoute } from './routes/multi-edit-image.ts'
import { queueAudioRoute } from './routes/queue-audio.ts'
import { queueVideoRoute } from './routes/queue-video.ts'
import { quoteAudioRoute } from './routes/quote-audio.ts'
import { quoteVideoRoute } from './routes/quote-video.ts'
import { retrieveAudioRoute } from './routes/retrieve-audio.ts'
import { retrieveVideoRoute } from './routes/retrieve-video.ts'
import { simpleGenerateImageRoute } from './routes/simple-generate-image.ts'
import { topUpRoute } from './routes/top-up.ts'
import { updateKeyRoute } from './routes/update-key.ts'
import { upscaleImageRoute } from './routes/upscale-image.ts'
import { webScrapeRoute } from './routes/web-scrape.ts'
import { webSearchRoute } from './routes/web-search.ts'

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
