import { expect, test } from 'vitest'
import * as door from '#contract/index.ts'

/** As `pins.test.ts`: what programs import by name. */

const names = `
  ApiKey AudioDeleted AudioQueueRequest AudioQueued AudioQuote AudioQuoteRequest AudioRetrieveRequest AudioStatus
  AudioUrl BackgroundRemoveImageRequest BillingBalance CharacterList CharacterRecord CharacterReviews ChatCompletion
  ChatCompletionChunk ChatCompletionRequest ChatMessage CodedError ConsentAttestation ContentViolation Cost
  CreateKeyRequest CreateWeb3KeyRequest CreatedKey DetailedError DiscoveryRequired EditImageRequest EmbeddingRequest
  Embeddings EvmAuthorization EvmPayload FlatPaymentPayload FormBoolean GenerateImageRequest GeneratedImages
  ImageFormat ImageUrl ModelList ModelPricing ModelRecord MultiEditImageRequest NeedsConsent OneCharacter
  OpenAiError ParsedText PayloadTooLarge PaymentOption PaymentPayload PaymentRequiredHeader ProviderContentPolicy
  RateLimitLog RateLimits Receipt ReceiptClaims ReceiptKeys ReceiptLine Receipts Resource ResponsesAnswer
  ResponsesEvent ResponsesRequest RpcCall RpcNetworks RpcRequest RpcResult ServiceError ServiceParameters
  ServiceParametersEcho SettlementResponse SignInChain SignInChallengeInfo SignInError SimpleImageRequest
  SimpleImages SolanaPayload SpeechFormat SpeechRequest StandardError TextParserRequest TokenUsage TopUpError
  TopUpRequired TopUpResult Transcription TranscriptionRequest UpdateKeyRequest UploadedFile UpscaleFactor
  UpscaleImageRequest UsageAnalytics UsageRow VideoAspectRatio VideoCompleteRequest VideoConstraints VideoDeleted
  VideoDuration VideoQueueRequest VideoQueued VideoQuote VideoQuoteRequest VideoResolution VideoRetrieveRequest
  VideoStatus VideoTranscript VideoTranscriptionRequest VideoUrl Voice VoiceRequest WalletAddress WalletBalance
  WalletCreditRequired WalletTransaction WalletTransactions WebPage WebScrapeRequest WebSearchRequest
  WebSearchResults addUsd answerHeaders apiVersion backgroundRemoveImage completeAudio completeVideo
  createChatCompletion createEmbedding createKey createResponse createSpeech createTextParser createTranscription
  createVideoTranscription createVoice createWeb3Key cryptoRpcProxy decodeBase64Json defaultVendor deleteKey
  describeApi describeIssues displayUsd editImage errors evmNetwork faceMediaRoles formNumber formatUsd
  fromUsdNumber fromVendor generateImage getBillingBalance getBillingUsage getBillingUsageAnalytics
  getBillingUsageHistory getCharacter getCharacterReviews getKey getRateLimitLog getRateLimits getReceipt
  getReceiptKeys getWalletBalance getWalletTransactions getWeb3Token headers isVendor limits listCharacters
  listCryptoRpcNetworks listImageStyles listKeys listModelCompatibilityMapping listModelTraits listModels
  listReceipts microUsd modelTypes multiEditImage networkAliases normalizeWallet operations parseModelSuffix
  parseUsd priceLines pricePerMillion queueAudio queueVideo quoteAudio quoteVideo readSignInHeader readSignInMessage
  receiptType retrieveAudio retrieveVideo searchDocumentsTool signInCodes simpleGenerateImage solanaNetwork
  speechFormats speechTypes toUsdNumber toVendor tokenPricing topUp updateKey upscaleImage usdcDecimals usdcOnEvm
  usdcOnSolana vendorHeader webScrape webSearch writeSignInHeader writeSignInMessage x402Version zeroUsd
`

test('what the door of the contract shows', () => {
  expect(Object.keys(door).sort()).toEqual(names.trim().split(/\s+/))
})
