/**
 * What a model runs on, a port for each capability. An engine knows neither accounts nor money;
 * it reports usage, and the caller prices it.
 */
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { EmbeddingInput } from '#contract/operations/embeddings.ts'
import type { RpcCall, RpcResult } from '#contract/operations/rpc.ts'
import type { VideoMediaField } from '#contract/operations/video.ts'
import type { Fetcher } from '../fetch/fetcher.ts'

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
  /** Counts bytes that a way of the reader's own brings. */
  count?: (bytes: number) => void
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

/** What the service reads of the web; null where its operator set nothing up for it. */
export interface Web {
  search: SearchEngine | null
  pages: PageReader | null
}

/** A document without a text that could be read; the message goes on after the name of the field. */
export class DocumentUnread extends Error {
  override readonly name = 'DocumentUnread'
}

/** What reads such documents does not load here. */
export class DocumentMissing extends Error {
  override readonly name = 'DocumentMissing'
}

/** A page that gives no text, through no fault of ours. The message follows the name of a field, and holds no word of the page. */
export class PageUnread extends Error {
  constructor(problem: string) {
    super(problem)
    this.name = 'PageUnread'
  }
}

/** The maximum that the caller gave, under any of the names that clients use; the smallest where there are several. */
export function askedTokens(request: ChatCompletionRequest): number | undefined {
  const { max_tokens: old, max_completion_tokens: current, maxCompletionTokens: camel } = request
  const given = [old, current, camel].filter(each => typeof each === 'number' && Number.isSafeInteger(each) && each > 0)
  return given.length ? Math.min(...given.map(Number)) : undefined
}

/** Fields of a request that change what is bought, by their names in the contract, for each kind of engine. */
export type VideoChoice =
  | 'prompt'
  | 'negative_prompt'
  | 'duration'
  | 'aspect_ratio'
  | 'resolution'
  | 'upscale_factor'
  | 'audio'
  | VideoMediaField
export type ImageChoice =
  | 'prompt'
  | 'negative_prompt'
  | 'width'
  | 'height'
  | 'variants'
  | 'format'
  | 'seed'
  | 'steps'
  | 'cfg_scale'
  | 'style_preset'
/** `images` is how many a request brings. */
export type EditChoice = 'prompt' | 'images' | 'aspect_ratio' | 'resolution' | 'quality' | 'output_format'
export type UpscaleChoice = 'scale' | 'enhance' | 'enhanceCreativity' | 'replication' | 'enhancePrompt'
export type SpeechChoice = 'voice' | 'speed' | 'language' | 'prompt' | 'temperature' | 'top_p'
export type TranscriptionChoice = 'language' | 'timestamps'
export type MusicChoice =
  | 'prompt'
  | 'lyrics_prompt'
  | 'duration_seconds'
  | 'force_instrumental'
  | 'lyrics_optimizer'
  | 'voice'
  | 'language_code'
  | 'speed'
export type EmbeddingChoice = 'dimensions'

/**
 * Whether a value of a field reaches what makes the result. A service refuses what is not carried before it holds money,
 * so that no caller pays for a choice that was dropped.
 */
export type Carries<Choice extends string> = (field: Choice, value: unknown) => boolean

/** For an engine that hands on every field as it is. */
export const carriesAll = (): boolean => true

/** For an engine that hands on these fields, whatever their value. */
export const carriesOnly =
  <Choice extends string>(...fields: readonly Choice[]): Carries<Choice> =>
  field =>
    fields.includes(field)

/** For an engine that hands on all but these. */
export const carriesAllBut =
  <Choice extends string>(...fields: readonly Choice[]): Carries<Choice> =>
  field =>
    !fields.includes(field)
