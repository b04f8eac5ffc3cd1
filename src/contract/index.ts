/** `farebox/contract`: what a client and a service of this API agree on. */

export * as errors from './errors/errors.ts'
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
} from './errors/failures.ts'
export { describeIssues } from './errors/issues.ts'
export { type ErrorKind, type RetryAdvice, ServiceError } from './errors/service-error.ts'
export * as limits from './limits.ts'
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
export { type DescribeOptions, describeApi } from './openapi/openapi.ts'
export { answerHeaders, type DescribedHeader } from './operations/answer-headers.ts'
export {
  AudioDeleted,
  AudioQueued,
  AudioQueueRequest,
  AudioQuote,
  AudioQuoteRequest,
  AudioRetrieveRequest,
  AudioStatus,
  completeAudio,
  createSpeech,
  createTranscription,
  createVoice,
  queueAudio,
  quoteAudio,
  retrieveAudio,
  SpeechFormat,
  SpeechRequest,
  speechFormats,
  speechTypes,
  Transcription,
  TranscriptionRequest,
  Voice,
  VoiceRequest,
} from './operations/audio.ts'
export {
  BillingBalance,
  getBillingBalance,
  getBillingUsage,
  getBillingUsageAnalytics,
  getBillingUsageHistory,
  UsageAnalytics,
  UsageRow,
} from './operations/billing.ts'
export {
  CharacterList,
  CharacterRecord,
  CharacterReviews,
  getCharacter,
  getCharacterReviews,
  listCharacters,
  OneCharacter,
} from './operations/characters.ts'
export {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  ChatMessage,
  Cost,
  createChatCompletion,
  TokenUsage,
} from './operations/chat.ts'
export { createTextParser, ParsedText, TextParserRequest } from './operations/documents.ts'
export { createEmbedding, EmbeddingRequest, Embeddings } from './operations/embeddings.ts'
export {
  BackgroundRemoveImageRequest,
  backgroundRemoveImage,
  EditImageRequest,
  editImage,
  GeneratedImages,
  GenerateImageRequest,
  generateImage,
  ImageFormat,
  listImageStyles,
  MultiEditImageRequest,
  multiEditImage,
  SimpleImageRequest,
  SimpleImages,
  simpleGenerateImage,
  UpscaleImageRequest,
  upscaleImage,
} from './operations/images.ts'
export {
  ApiKey,
  CreatedKey,
  CreateKeyRequest,
  CreateWeb3KeyRequest,
  createKey,
  createWeb3Key,
  deleteKey,
  getKey,
  getWeb3Token,
  listKeys,
  UpdateKeyRequest,
  updateKey,
} from './operations/keys.ts'
export {
  listModelCompatibilityMapping,
  listModels,
  listModelTraits,
  ModelList,
  ModelPricing,
  ModelRecord,
  type ModelType,
  modelTypes,
  tokenPricing,
  VideoConstraints,
} from './operations/models.ts'
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
} from './operations/operation.ts'
export { operations } from './operations/operations.ts'
export { getRateLimitLog, getRateLimits, RateLimitLog, RateLimits } from './operations/rate-limits.ts'
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
} from './operations/receipts.ts'
export { createResponse, ResponsesAnswer, ResponsesEvent, ResponsesRequest } from './operations/responses.ts'
export { cryptoRpcProxy, listCryptoRpcNetworks, RpcCall, RpcNetworks, RpcRequest, RpcResult } from './operations/rpc.ts'
export {
  parseModelSuffix,
  ServiceParameters,
  ServiceParametersEcho,
  type SuffixedModel,
} from './operations/service-parameters.ts'
export {
  AudioUrl,
  ConsentAttestation,
  completeVideo,
  createVideoTranscription,
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
  VideoTranscript,
  VideoTranscriptionRequest,
  VideoUrl,
} from './operations/video.ts'
export {
  getWalletBalance,
  getWalletTransactions,
  TopUpResult,
  topUp,
  WalletBalance,
  WalletTransaction,
  WalletTransactions,
} from './operations/wallet.ts'
export {
  WebPage,
  WebScrapeRequest,
  WebSearchRequest,
  WebSearchResults,
  webScrape,
  webSearch,
} from './operations/web.ts'
export { apiVersion } from './wire/base-url.ts'
export { FormBoolean, formNumber, UploadedFile } from './wire/form.ts'
export { decodeBase64Json, type HeaderCodec, type HeaderSchema } from './wire/header-codec.ts'
export * as headers from './wire/headers.ts'
export {
  evmNetwork,
  networkAliases,
  normalizeWallet,
  solanaNetwork,
  usdcDecimals,
  usdcOnEvm,
  usdcOnSolana,
  x402Version,
} from './wire/networks.ts'
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
} from './wire/payment.ts'
export {
  DiscoveryRequired,
  PaymentRequiredHeader,
  Resource,
  SignInChain,
  SignInChallengeInfo,
  WalletCreditRequired,
} from './wire/payment-required.ts'
export {
  type ReadSignIn,
  readSignInHeader,
  type SignInClaim,
  type SignInCode,
  signInCodes,
  writeSignInHeader,
} from './wire/sign-in.ts'
export { readSignInMessage, type SignInFields, writeSignInMessage } from './wire/sign-in-message.ts'
export { defaultVendor, fromVendor, isVendor, searchDocumentsTool, toVendor, vendorHeader } from './wire/vendor.ts'
