/** The door `farebox/service`: what is needed to run the metered API before models of one's own. */

export { JsonRpcNode, type JsonRpcNodeOptions } from '#engines/chain/json-rpc-node.ts'
export type { ComfyJobsOptions } from '#engines/comfy/jobs.ts'
export { ComfyMusic } from '#engines/comfy/music.ts'
export { type ComfyOptions, ComfyPictures } from '#engines/comfy/pictures.ts'
export { ComfySpeech } from '#engines/comfy/speech.ts'
export { ComfyVideo } from '#engines/comfy/video.ts'
export { DemoMusic, DemoSpeech, DemoTranscription } from '#engines/demo/audio.ts'
export { DemoChat, type DemoChatOptions } from '#engines/demo/chat.ts'
export { DemoEmbeddings } from '#engines/demo/embeddings.ts'
export { DemoImageEdits, DemoImages } from '#engines/demo/images.ts'
export { DemoVideo, type DemoVideoOptions } from '#engines/demo/video.ts'
export { DemoWeb } from '#engines/demo/web.ts'
export { EsrganUpscale } from '#engines/esrgan/upscale.ts'
export type { FaceDetector, FaceMedium } from '#engines/faces/face-detector.ts'
export { HumanFaces, type HumanFacesOptions } from '#engines/faces/human-faces.ts'
export { GgufChat, type GgufChatOptions } from '#engines/gguf/chat.ts'
export { LocalEmbeddings, type LocalEmbeddingsOptions } from '#engines/local/embeddings.ts'
export { FliteSpeech, type FliteSpeechOptions, fliteVoices } from '#engines/local/flite-speech.ts'
export { Pocketsphinx, type PocketsphinxOptions } from '#engines/local/pocketsphinx.ts'
export { OpenAiChat, type OpenAiChatOptions } from '#engines/openai/chat.ts'
export { OpenAiEmbeddings } from '#engines/openai/embeddings.ts'
export { type OpenAiEditsOptions, OpenAiImageEdits } from '#engines/openai/image-edits.ts'
export { OpenAiImages } from '#engines/openai/images.ts'
export { OpenAiSpeech, type OpenAiSpeechOptions } from '#engines/openai/speech.ts'
export { OpenAiTranscription, type OpenAiTranscriptionOptions } from '#engines/openai/transcription.ts'
export type { EngineProblem, EngineTimeouts, UpstreamOptions } from '#engines/openai/upstream-options.ts'
export { OpenAiVideos, type OpenAiVideosOptions } from '#engines/openai/videos.ts'
export type * from '#engines/ports/carried-choices.ts'
export type * from '#engines/ports/engine.ts'
export type * from '#engines/ports/media-engines.ts'
export { ServiceChat, type ServiceChatOptions } from '#engines/service/chat.ts'
export { ServiceImages } from '#engines/service/images.ts'
export { ServiceSpeech } from '#engines/service/speech.ts'
export { ServiceTranscription } from '#engines/service/transcription.ts'
export { ServiceVideo, type ServiceVideoOptions } from '#engines/service/video.ts'
export { SoundTranscriber, type SoundTranscriberOptions } from '#engines/sound-transcriber.ts'
export { PageUnread } from '#engines/web/page-unread.ts'
export { SearxngSearch, type SearxngSearchOptions } from '#engines/web/searxng-search.ts'
export { WebPages, type WebPagesOptions } from '#engines/web/web-pages.ts'
export type { Log } from '#host/log.ts'
export type { FacilitatorHeaders, FacilitatorRequest } from '#payments/facilitators/facilitator-http.ts'
export type {
  PaymentSettings,
  RemoteFacilitatorSettings,
  SolanaPaymentSettings,
} from '#payments/payment-settings.ts'
export type { EvmStakeOptions } from '#payments/staking/evm-stake-reader.ts'
export type { Character, CharacterReview } from './capabilities/characters/character.ts'
export { demoCharacters } from './capabilities/characters/demo-characters.ts'
export type { MusicModel, SpeechModel, TranscriptionModel, VoiceCloning } from './models/audio-models.ts'
export { type DemoEngines, demoModels } from './models/demo-models.ts'
export type {
  ConsentPolicy,
  EmbeddingModel,
  EmbeddingPrice,
  Model,
  TextModel,
  TextPrice,
  VideoModel,
  VideoPrice,
} from './models/model.ts'
export type { BackgroundModel, EditModel, EditPrice, PictureModel, UpscaleModel } from './models/picture-model.ts'
export { type OpenService, openService, type ServiceOptions } from './running/open-service.ts'
