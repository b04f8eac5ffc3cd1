/**
 * The interface of each capability's engine. An engine knows neither accounts nor money; it reports usage, and the
 * caller prices it.
 */
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { EmbeddingInput } from '#contract/operations/embeddings.ts'
import type { RpcCall, RpcResult } from '#contract/operations/rpc.ts'
import type { VideoMediaField } from '#contract/operations/video.ts'
import type { Fetcher } from '../fetch/fetcher.ts'
import type { TextChunk } from './text-chunk.ts'

export interface ChatCall {
  request: ChatCompletionRequest
  /** The engine's own name for the model. */
  engineModel: string
  /**
   * The most completion tokens that the caller has a hold for, over all choices; a well-behaved engine never exceeds
   * it.
   */
  maxCompletionTokens: number
  /** The engine searches the web and X itself, and reports the results in `citations` and its usage. */
  searchesX?: boolean
  /** Whether a model that can reason should answer without thinking. */
  isThinkingOff?: boolean
  signal: AbortSignal
  /**
   * Sends a chunk to the caller within this turn of the event loop, which saves the promises of the iterator; if false,
   * the engine must yield the chunk. An engine may call it only while its iterator's `next` is pending and no other
   * chunk waits, so that no chunk overtakes another.
   */
  takeDirectly?(chunk: TextChunk): boolean
}

export interface ChatEngine {
  /**
   * Paths of members beyond the published ones that the operator allows, such as
   * `chat_template_kwargs.enable_thinking`.
   */
  readonly passMembers?: readonly string[]
  /** Whether it has its own search. */
  readonly hasXSearch?: boolean
  complete(call: ChatCall): Promise<ChatCompletion>
  /**
   * Ends normally after the last chunk; a chunk with `usage` may come last. Leaving the loop ends the upstream call.
   */
  stream(call: ChatCall): AsyncIterable<ChatCompletionChunk>
}

export interface EmbeddingCall {
  input: EmbeddingInput
  engineModel: string
  /** Only for a model that offers the choice. */
  dimensions?: number
  signal: AbortSignal
}

export interface EmbeddingResult {
  /** One per input, in order. */
  vectors: number[][]
  /** Null if the engine does not report it. */
  promptTokens: number | null
}

export interface EmbeddingEngine {
  readonly carries: Carries<EmbeddingChoice>
  embed(call: EmbeddingCall): Promise<EmbeddingResult>
}

export interface SearchCall {
  query: string
  /** Maximum number of results. */
  limit: number
  /** The index that the caller wants, if the engine offers a choice. */
  provider?: 'google' | 'brave'
  signal: AbortSignal
}

export interface SearchResult {
  title: string
  url: string
  /** What the page says about the query, as text. */
  content: string
  /** The page's date, as the engine writes it; empty if unknown. */
  date: string
}

export interface SearchEngine {
  /** Best first; may be empty. */
  search(call: SearchCall): Promise<SearchResult[]>
}

export interface PageCall {
  /** As a caller wrote it. */
  url: string
  /** Fetches callers' URLs: public ones, and those of hosts that the operator lists. */
  fetcher?: Fetcher
  /** Counts bytes that the reader fetches by other means. */
  count?: (bytes: number) => void
  signal: AbortSignal
}

export interface ReadPage {
  /** Empty if the page has none. */
  title: string
  /** Markdown. */
  content: string
}

export interface PageReader {
  /** Throws `PageUnread` if a page has no text; any other error is the reader's fault. */
  read(call: PageCall): Promise<ReadPage>
}

export interface DocumentCall {
  bytes: Buffer
  signal: AbortSignal
}

export interface DocumentReader {
  /**
   * Returns the document's text. Throws `DocumentUnread` if it has none, `DocumentMissing` if a package for it is not
   * installed.
   */
  read(call: DocumentCall): Promise<string>
}

export interface NodeCall {
  calls: readonly RpcCall[]
  signal: AbortSignal
}

export interface ChainNode {
  /** Returns one result per call, in order; their ids are internal to the node. Throws if one has no result. */
  ask(call: NodeCall): Promise<RpcResult[]>
}

/** A blockchain whose node callers may query. */
export interface ChainNetwork {
  /** Its name in the path, such as `ethereum-mainnet`. */
  slug: string
  node: ChainNode
  /**
   * Credits of an ordinary call: 20 by default, and at most 30, because callers' wallets calculate the highest price of
   * a call with that maximum.
   */
  baseCredits?: number
}

/** Web search and pages; null if the operator has not configured them. */
export interface Web {
  search: SearchEngine | null
  pages: PageReader | null
}

/** The document has no readable text; the message continues after the name of the field. */
export class DocumentUnread extends Error {
  override readonly name = 'DocumentUnread'
}

/** The package for such documents is not installed. */
export class DocumentMissing extends Error {
  override readonly name = 'DocumentMissing'
}

/**
 * The page has no text, and the fault is not ours. The message follows the name of a field, and contains nothing from
 * the page.
 */
export class PageUnread extends Error {
  constructor(problem: string) {
    super(problem)
    this.name = 'PageUnread'
  }
}

/**
 * Returns how many tokens the caller allows for the answer, under any name that clients use; the smallest number if
 * there are several.
 */
export function askedTokens(request: ChatCompletionRequest): number | undefined {
  const { max_tokens: old, max_completion_tokens: current, maxCompletionTokens: camel } = request
  const given = [old, current, camel].filter(each => typeof each === 'number' && Number.isSafeInteger(each) && each > 0)
  return given.length ? Math.min(...given.map(Number)) : undefined
}

/** Fields of a request that change the result, by their names in the contract. Each kind of engine has its own. */
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
/** `images` is the number of images in a request. */
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
 * Whether a field's value reaches the engine. If it does not, the service refuses a request with that field before it
 * holds money, so that no caller pays for an ignored choice.
 */
export type Carries<Choice extends string> = (field: Choice, value: unknown) => boolean

/** For an engine that forwards every field. */
export const carriesAll = (): boolean => true

/** For an engine that forwards only these fields, with any value. */
export const carriesOnly =
  <Choice extends string>(...fields: readonly Choice[]): Carries<Choice> =>
  field =>
    fields.includes(field)

/** For an engine that forwards all but these fields. */
export const carriesAllBut =
  <Choice extends string>(...fields: readonly Choice[]): Carries<Choice> =>
  field =>
    !fields.includes(field)
