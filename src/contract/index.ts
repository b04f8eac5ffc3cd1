/** `farebox/contract`: what a client and a service of this API agree on. */

export { answerHeaders, type DescribedHeader } from './answer-headers.ts'
export {
  ApiKey,
  CreatedKey,
  CreateKeyRequest,
  createKey,
  deleteKey,
  getKey,
  listKeys,
  UpdateKeyRequest,
  updateKey,
} from './api-keys.ts'
export { apiVersion } from './api-version.ts'
export {
  AudioDeleted,
  AudioQueued,
  AudioQueueRequest,
  AudioQuote,
  AudioQuoteRequest,
  AudioRetrieveRequest,
  AudioStatus,
  completeAudio,
  queueAudio,
  quoteAudio,
  retrieveAudio,
} from './audio-jobs.ts'
export { WebPage, WebScrapeRequest, WebSearchRequest, WebSearchResults, webScrape, webSearch } from './augment.ts'
export {
  BillingBalance,
  getBillingBalance,
  getBillingUsage,
  getBillingUsageAnalytics,
  getBillingUsageHistory,
  UsageAnalytics,
  UsageRow,
} from './billing.ts'
export {
  CharacterList,
  CharacterRecord,
  CharacterReviews,
  getCharacter,
  getCharacterReviews,
  listCharacters,
  OneCharacter,
} from './characters.ts'
export {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  ChatMessage,
  createChatCompletion,
} from './chat.ts'
export { Cost, TokenUsage } from './chat-completion.ts'
export { cryptoRpcProxy, listCryptoRpcNetworks, RpcCall, RpcNetworks, RpcRequest, RpcResult } from './crypto-rpc.ts'
export { createEmbedding, EmbeddingRequest, Embeddings } from './embeddings.ts'
export * as errors from './errors.ts'
export {
  CodedError,
  ContentViolation,
  DetailedError,
  type FaceMediaRole,
  faceMediaRoles,
  NeedsConsent,
  OpenAiError,
  PayloadTooLarge,
  ProviderContentPolicy,
  SignInError,
  StandardError,
  TopUpError,
} from './failures.ts'
export { FormBoolean, formNumber, UploadedFile } from './form-fields.ts'
export { decodeBase64Json, type HeaderCodec, type HeaderSchema } from './header-codec.ts'
export * as headers from './headers.ts'
export {
  BackgroundRemoveImageRequest,
  backgroundRemoveImage,
  EditImageRequest,
  editImage,
  MultiEditImageRequest,
  multiEditImage,
  UpscaleImageRequest,
  upscaleImage,
} from './image-edits.ts'
export {
  GeneratedImages,
  GenerateImageRequest,
  generateImage,
  ImageFormat,
  listImageStyles,
  SimpleImageRequest,
  SimpleImages,
  simpleGenerateImage,
} from './images.ts'
export { describeIssues } from './issues.ts'
export * as limits from './limits.ts'
export { ModelPricing, tokenPricing } from './model-pricing.ts'
export {
  listModelCompatibilityMapping,
  listModels,
  listModelTraits,
  ModelList,
  ModelRecord,
  type ModelType,
  modelTypes,
  VideoConstraints,
} from './models.ts'
export {
  addUsd,
  displayUsd,
  formatUsd,
  fromUsdNumber,
  type MicroUsd,
  microUsd,
  type PricedUnits,
  parseUsd,
  priceLines,
  pricePerMillion,
  toUsdNumber,
  zeroUsd,
} from './money.ts'
export { type DescribeOptions, describeApi } from './openapi.ts'
export type {
  AnswerOf,
  AnswerShape,
  AuthScheme,
  CallOf,
  Charge,
  Method,
  Operation,
  RequestOf,
  RequestShape,
} from './operation.ts'
export { operations } from './operations.ts'
export {
  EvmAuthorization,
  EvmPayload,
  FlatPaymentPayload,
  PaymentOption,
  PaymentPayload,
  SettlementResponse,
  SolanaPayload,
  TopUpRequired,
  WalletAddress,
} from './payment.ts'
export {
  evmNetwork,
  networkAliases,
  normalizeWallet,
  solanaNetwork,
  usdcDecimals,
  usdcOnEvm,
  usdcOnSolana,
  x402Version,
} from './payment-rails.ts'
export {
  DiscoveryRequired,
  PaymentRequiredHeader,
  Resource,
  SignInChain,
  SignInChallengeInfo,
  WalletCreditRequired,
} from './payment-required.ts'
export { getRateLimitLog, getRateLimits, RateLimitLog, RateLimits } from './rate-limits.ts'
export {
  getReceipt,
  getReceiptKeys,
  listReceipts,
  Receipt,
  ReceiptClaims,
  ReceiptKeys,
  ReceiptLine,
  Receipts,
  receiptType,
} from './receipts.ts'
export { createResponse, ResponsesAnswer, ResponsesEvent, ResponsesRequest } from './responses.ts'
export { type ErrorKind, type RetryAdvice, ServiceError } from './service-error.ts'
export {
  parseModelSuffix,
  ServiceParameters,
  ServiceParametersEcho,
  type SuffixedModel,
} from './service-parameters.ts'
export {
  type ReadSignIn,
  readSignInHeader,
  type SignInClaim,
  type SignInCode,
  signInCodes,
  writeSignInHeader,
} from './sign-in.ts'
export { readSignInMessage, type SignInFields, writeSignInMessage } from './sign-in-message.ts'
export {
  createSpeech,
  createVoice,
  SpeechFormat,
  SpeechRequest,
  speechFormats,
  speechTypes,
  Voice,
  VoiceRequest,
} from './speech.ts'
export { createTextParser, ParsedText, TextParserRequest } from './text-parser.ts'
export { TopUpResult, topUp } from './top-up.ts'
export { createTranscription, Transcription, TranscriptionRequest } from './transcription.ts'
export { defaultVendor, fromVendor, isVendor, searchDocumentsTool, toVendor, vendorHeader } from './vendor.ts'
export {
  AudioUrl,
  ConsentAttestation,
  completeVideo,
  ImageUrl,
  queueVideo,
  quoteVideo,
  retrieveVideo,
  UpscaleFactor,
  VideoAspectRatio,
  VideoCompleteRequest,
  VideoDeleted,
  VideoDuration,
  VideoQueued,
  VideoQueueRequest,
  VideoQuote,
  VideoQuoteRequest,
  VideoResolution,
  VideoRetrieveRequest,
  VideoStatus,
  VideoUrl,
} from './video.ts'
export { createVideoTranscription, VideoTranscript, VideoTranscriptionRequest } from './video-transcription.ts'
export {
  getWalletBalance,
  getWalletTransactions,
  WalletBalance,
  WalletTransaction,
  WalletTransactions,
} from './wallet-records.ts'
export { CreateWeb3KeyRequest, createWeb3Key, getWeb3Token } from './web3-key.ts'
