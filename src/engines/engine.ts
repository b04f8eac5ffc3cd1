/**
 * What a model runs on, a port for each capability. An engine knows neither accounts nor money;
 * it reports usage, and the caller prices it.
 */
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { EmbeddingInput } from '#contract/operations/embeddings.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import type { RpcCall, RpcResult } from '#contract/operations/rpc.ts'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type {
  Carries,
  EditChoice,
  EmbeddingChoice,
  ImageChoice,
  UpscaleChoice,
  VideoChoice,
} from './carried-choices.ts'
import type { Fetcher } from './fetch/first-use-fetcher.ts'
import type { Picture } from './pictures/picture.ts'

export interface ChatCall {
  request: ChatCompletionRequest
  /** The engine's own name of the model. */
  engineModel: string
  /** The most completion tokens the caller has paid a hold for, all choices together; never exceeded by a well-behaved engine. */
  maxCompletionTokens: number
  /** It searches the web and X by itself, and says in `citations` and its usage what it found. */
  searchesX?: boolean
  /** A model that can reason is to answer at once. */
  isThinkingOff?: boolean
  signal: AbortSignal
}

export interface ChatEngine {
  /** Paths of members beyond the published ones that its operator lets through, such as `chat_template_kwargs.enable_thinking`. */
  readonly passMembers?: readonly string[]
  /** Whether it has a search of its own. */
  readonly hasXSearch?: boolean
  complete(call: ChatCall): Promise<ChatCompletion>
  /** Ends normally after the last chunk; a chunk with `usage` may come last. Breaking off the loop ends the upstream call. */
  stream(call: ChatCall): AsyncIterable<ChatCompletionChunk>
}

export interface EmbeddingCall {
  input: EmbeddingInput
  engineModel: string
  /** Only for a model that lets them be chosen. */
  dimensions?: number
  signal: AbortSignal
}

export interface EmbeddingResult {
  /** One for each input, in their order. */
  vectors: number[][]
  /** Null where the engine does not say. */
  promptTokens: number | null
}

export interface EmbeddingEngine {
  readonly carries: Carries<EmbeddingChoice>
  embed(call: EmbeddingCall): Promise<EmbeddingResult>
}

/** What a picture is made of, with nothing that its model does not take. */
export interface PictureRequest {
  prompt: string
  negativePrompt?: string
  width: number
  height: number
  count: number
  format: ImageFormat
  seed?: number
  steps?: number
  cfgScale?: number
  style?: string
  /** Whether the caller wants sexual images blurred; for engines that can do so themselves. */
  safeMode?: boolean
}

/** What an engine says that it found in its images. */
export interface EngineFinding {
  isBlurred?: boolean
  isViolation?: boolean
  isAdultViolation?: boolean
  containsMinor?: boolean
}

export interface ImageCall {
  request: PictureRequest
  engineModel: string
  signal: AbortSignal
  found?: (finding: EngineFinding) => void
}

export interface ImageEngine {
  readonly carries: Carries<ImageChoice>
  /** Pictures in the format of the request, one at least and no more than were asked for; only those are charged. */
  generate(call: ImageCall): Promise<Buffer[]>
}

export interface SearchCall {
  query: string
  /** Results at most. */
  limit: number
  /** Whose index the caller wants, where the engine has a choice. */
  provider?: 'google' | 'brave'
  signal: AbortSignal
}

export interface SearchResult {
  title: string
  url: string
  /** What the page says about it, as text. */
  content: string
  /** When the page is of, as the engine writes it; empty where it knows no date. */
  date: string
}

export interface SearchEngine {
  /** The best first; none is an answer too. */
  search(call: SearchCall): Promise<SearchResult[]>
}

export interface PageCall {
  /** As a caller wrote it. */
  url: string
  /** The service's own way to what callers name: public addresses, and the hosts that its operator lists. */
  fetcher?: Fetcher
  signal: AbortSignal
}

export interface ReadPage {
  /** Empty where the page has none. */
  title: string
  /** Markdown. */
  content: string
}

export interface PageReader {
  /** Throws `PageUnread` where a page gives no text; any other error is a fault of the reader. */
  read(call: PageCall): Promise<ReadPage>
}

export interface DocumentCall {
  bytes: Buffer
  signal: AbortSignal
}

export interface DocumentReader {
  /** Its text. Throws `DocumentUnread` where it has none, `DocumentMissing` where this reader lacks a package for it. */
  read(call: DocumentCall): Promise<string>
}

export interface TranscriptCall {
  /** A whole file. */
  bytes: Buffer
  /** As its server said; it proves nothing. */
  mimeType: string
  signal: AbortSignal
}

export interface VideoTranscriber {
  /** What is said in it, and its language (BCP 47) where that is known. */
  transcribe(call: TranscriptCall): Promise<{ transcript: string; lang?: string }>
}

export interface NodeCall {
  calls: readonly RpcCall[]
  signal: AbortSignal
}

export interface ChainNode {
  /** One result for each call, in their order; their ids are the node's affair. Throws where one has none. */
  ask(call: NodeCall): Promise<RpcResult[]>
}

/** A blockchain whose node callers may ask. */
export interface ChainNetwork {
  /** Its word in the path, such as `ethereum-mainnet`. */
  slug: string
  node: ChainNode
  /** Of an ordinary call; 20 where absent, 30 at most by the contract: wallets of callers price a call by that. */
  baseCredits?: number
}

/** What is made of pictures, with nothing that its model does not take. */
export interface EditRequest {
  prompt: string
  /** One at least, the first is the one to change. */
  pictures: readonly Picture[]
  format: ImageFormat
  /** Absent where the picture keeps its own. */
  aspectRatio?: string
  resolution?: string
  quality?: 'low' | 'medium' | 'high'
}

export interface EditCall {
  request: EditRequest
  engineModel: string
  signal: AbortSignal
}

export interface EditEngine {
  readonly carries: Carries<EditChoice>
  /** A picture in the format of the request. */
  edit(call: EditCall): Promise<Buffer>
}

export interface UpscaleRequest {
  picture: Picture
  /** From 1 to 4; 1 is for a model that enhances. */
  scale: number
  /** Only for a model that has it; each from 0 to 1. */
  enhance?: { creativity: number; replication: number; prompt?: string }
}

export interface UpscaleCall {
  request: UpscaleRequest
  engineModel: string
  signal: AbortSignal
}

export interface UpscaleEngine {
  readonly carries: Carries<UpscaleChoice>
  /** A PNG. */
  upscale(call: UpscaleCall): Promise<Buffer>
}

export interface BackgroundCall {
  picture: Picture
  engineModel: string
  signal: AbortSignal
}

export interface BackgroundEngine {
  /** A PNG whose background is transparent. */
  removeBackground(call: BackgroundCall): Promise<Buffer>
}

export interface VideoCall {
  request: VideoQueueRequest
  engineModel: string
  /** The job's id: an engine that takes an idempotency key uses it, so that a submission repeated after a crash makes one video. */
  jobId: string
  signal: AbortSignal
}

/** What an engine needs in order to find its work again after a restart: plain JSON, kept in the job's row. */
export type EngineState = Record<string, unknown>

/** How the work of a job stands at its engine. */
export type JobProgress =
  | { state: 'running'; engineState: EngineState }
  /** The file lies at `path`, written whole; the caller takes it over. */
  | { state: 'completed'; path: string; mimeType: string }
  | { state: 'failed'; reason: string; contentPolicy?: boolean }

export interface VideoEngine {
  readonly carries: Carries<VideoChoice>
  /** Starts or finds the work of this job. */
  start(call: VideoCall): Promise<JobProgress>
  /** Looks after it; called again until it is completed or failed. An error thrown here is no verdict. */
  poll(call: VideoCall, engineState: EngineState): Promise<JobProgress>
}

/** What the service reads of the web; null where its operator set nothing up for it. */
export interface Web {
  search: SearchEngine | null
  pages: PageReader | null
}
