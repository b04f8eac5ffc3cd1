/** `farebox/service`: everything that is needed to run the metered API with your own models. */

export { JsonRpcNode, type JsonRpcNodeOptions } from '#engines/chain/json-rpc-node.ts'
export { ComfyImages, type ComfyOptions } from '#engines/comfy/images.ts'
export type { ComfyJobsOptions } from '#engines/comfy/jobs.ts'
export { ComfyMusic, ComfyVideo } from '#engines/comfy/jobs.ts'
export { ComfySpeech } from '#engines/comfy/speech.ts'
export { DemoMusic, DemoSpeech, DemoTranscription } from '#engines/demo/audio.ts'
export { DemoChat, type DemoChatOptions } from '#engines/demo/chat.ts'
export { DemoEmbeddings } from '#engines/demo/embeddings.ts'
export { DemoImageEdits, DemoImages } from '#engines/demo/images.ts'
export { DemoVideo, type DemoVideoOptions } from '#engines/demo/video.ts'
export { DemoWeb } from '#engines/demo/web.ts'
export { EsrganUpscale } from '#engines/esrgan/upscale.ts'
export { HumanFaces, type HumanFacesOptions } from '#engines/faces/human-faces.ts'
export { GgufChat, type GgufChatOptions } from '#engines/gguf/chat.ts'
export type { EngineProblem, EngineTimeouts, UpstreamOptions } from '#engines/http/upstream-options.ts'
export { LocalEmbeddings, type LocalEmbeddingsOptions } from '#engines/local/embeddings.ts'
export { FliteSpeech, type FliteSpeechOptions, fliteVoices } from '#engines/local/flite-speech.ts'
export {
  AudioTranscriber,
  type AudioTranscriberOptions,
  Pocketsphinx,
  type PocketsphinxOptions,
} from '#engines/local/transcription.ts'
export { NsfwModerator, OpenAiModerator, type OpenAiModeratorOptions } from '#engines/moderation/moderators.ts'
export {
  OpenAiSpeech,
  type OpenAiSpeechOptions,
  OpenAiTranscription,
  type OpenAiTranscriptionOptions,
} from '#engines/openai/audio.ts'
export { OpenAiChat, type OpenAiChatOptions } from '#engines/openai/chat.ts'
export { OpenAiEmbeddings } from '#engines/openai/embeddings.ts'
export {
  type OpenAiEditsOptions,
  OpenAiImageEdits,
  OpenAiImages,
  type OpenAiImagesOptions,
} from '#engines/openai/images.ts'
export { OpenAiVideos, type OpenAiVideosOptions } from '#engines/openai/videos.ts'
export type * from '#engines/ports/engine.ts'
export { PageUnread } from '#engines/ports/engine.ts'
export type * from '#engines/ports/media-engines.ts'
export {
  ServiceChat,
  type ServiceChatOptions,
  ServiceImages,
  ServiceSpeech,
  ServiceTranscription,
  ServiceVideo,
  type ServiceVideoOptions,
} from '#engines/service/service-engines.ts'
export { SearxngSearch, type SearxngSearchOptions, WebPages, type WebPagesOptions } from '#engines/web/web-pages.ts'
export type { Log } from '#host/log.ts'
export type { EvmStakeOptions } from '#payments/evm/evm-stake-reader.ts'
export { type CdpKey, cdpFacilitatorUrl, cdpHeaders } from '#payments/facilitators/cdp-key.ts'
export type {
  FacilitatorHeaders,
  FacilitatorRequest,
  RemoteFacilitatorSettings,
} from '#payments/facilitators/remote-facilitator.ts'
export type { PaymentSettings } from '#payments/rails/rails.ts'
export type { SolanaPaymentSettings } from '#payments/solana/svm-rail.ts'
export type { Character, CharacterReview } from './capabilities/characters/characters.ts'
export { demoCharacters } from './capabilities/characters/characters.ts'
export { type DemoEngines, demoModels } from './models/demo-models.ts'
export type {
  BackgroundModel,
  ConsentPolicy,
  EditModel,
  EditPrice,
  EmbeddingModel,
  EmbeddingPrice,
  ImageInputModel,
  Model,
  MusicModel,
  SpeechModel,
  TextModel,
  TextPrice,
  TranscriptionModel,
  UpscaleModel,
  VideoModel,
  VideoPrice,
  VoiceCloning,
} from './models/model.ts'
export { type OpenService, openService, type ServiceOptions } from './running/open-service.ts'
