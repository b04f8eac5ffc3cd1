import { modelOverloaded } from '#contract/errors/errors.ts'
import { optionalPackage } from '#host/packages.ts'

/** Default context of a GGUF file: a longer one costs memory that most prompts never use. */
const ggufContextTokens = 8_192

/** llama.cpp creates no shorter context. */
const leastContextTokens = 1_024

/** The part of `node-llama-cpp`, which includes llama.cpp built for this machine, that we use. */
interface LlamaPackage {
  getLlama(options: { gpu: false; build: 'never'; skipDownload: true; logLevel: string }): Promise<Llama>
  LlamaChat: new (options: { contextSequence: LlamaSequence; chatWrapper?: LlamaChatWrapper }) => LlamaChat
}

interface Llama {
  loadModel(options: { modelPath: string }): Promise<LlamaModel>
  /** A built-in grammar: `json` is any JSON. */
  getGrammarFor(name: 'json'): Promise<LlamaGrammar>
  createGrammarForJsonSchema(schema: object): Promise<LlamaGrammar>
}

export type LlamaGrammar = object

interface LlamaModel {
  readonly tokenizer: LlamaTokenizer
  /** The context length that the model was trained with. */
  readonly trainContextSize: number
  createContext(options: { contextSize: number; sequences: number; threads?: number }): Promise<LlamaContext>
  dispose(): Promise<void>
}

type LlamaTokenizer = (text: string) => unknown[]

interface LlamaContext {
  readonly contextSize: number
  getSequence(): LlamaSequence
}

export interface LlamaSequence {
  /** Counts generated tokens, including those of function calls. */
  readonly tokenMeter: { readonly usedOutputTokens: number }
  dispose(): void
}

interface LlamaChatWrapper {
  generateContextState(options: { chatHistory: readonly LlamaTurn[]; availableFunctions?: LlamaFunctions }): {
    contextText: { tokenize(tokenizer: LlamaTokenizer): unknown[] }
  }
}

export interface LlamaChat {
  readonly chatWrapper: LlamaChatWrapper
  generateResponse(history: readonly LlamaTurn[], options: GenerateOptions): Promise<LlamaResponse>
}

export type LlamaTurn =
  | { type: 'system'; text: string }
  | { type: 'user'; text: string }
  | { type: 'model'; response: (string | LlamaFunctionCall)[] }

export interface LlamaFunctionCall {
  type: 'functionCall'
  name: string
  params: unknown
  result: unknown
}

export type LlamaFunctions = Readonly<Record<string, { description?: string; params?: object }>>

export interface GenerateOptions {
  signal: AbortSignal
  maxTokens: number
  temperature: number
  topP?: number
  topK?: number
  minP?: number
  seed?: number
  repeatPenalty?: { penalty?: number; frequencyPenalty?: number; presencePenalty?: number }
  customStopTriggers?: readonly string[]
  grammar?: LlamaGrammar
  functions?: LlamaFunctions
  maxParallelFunctionCalls?: number
  onResponseChunk(chunk: LlamaChunk): void
}

export interface LlamaChunk {
  /** Absent for the answer itself. */
  segmentType?: string
  text: string
  tokens: readonly unknown[]
}

export interface LlamaResponse {
  functionCalls?: readonly { functionName: string; params: unknown }[]
  metadata: {
    stopReason: 'eogToken' | 'stopGenerationTrigger' | 'functionCalls' | 'maxTokens' | 'abort' | 'customStopTrigger'
  }
}

const loadLlama = (): Promise<LlamaPackage> => optionalPackage<LlamaPackage>('node-llama-cpp', 'A GGUF file')

export interface GgufOptions {
  /** Path of the model file. */
  path: string
  /** For prompt and answer together; by default what the model was trained with, at most 8,192. */
  contextTokens?: number
  /**
   * Concurrent answers, each with its own context in memory; 1 by default. Further ones are refused with Retry-After.
   */
  parallel?: number
  /** Processor threads; by default as many as llama.cpp finds useful. */
  threads?: number
}

/** A model in memory, with room for this many concurrent answers. */
export interface OpenModel {
  llama: Llama
  LlamaChat: LlamaPackage['LlamaChat']
  model: LlamaModel
  context: LlamaContext
  /** For prompt and answer together. */
  contextTokens: number
}

/** A model file, loaded with the first call, because loading takes seconds and gigabytes. */
export class ModelFile {
  readonly #options: GgufOptions
  readonly #parallel: number
  #opening: Promise<OpenModel> | null = null
  #running = 0

  constructor(options: GgufOptions) {
    this.#options = options
    this.#parallel = options.parallel ?? 1
  }

  /** Throws `modelOverloaded` if no slot is free, and a sentence if the file is not a model. */
  async use<Result>(run: (model: OpenModel) => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#parallel) throw modelOverloaded()
    this.#running++
    try {
      return await run(await this.#open())
    } finally {
      this.#running--
    }
  }

  /** Frees the memory. */
  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => null)
    this.#opening = null
    await opened?.model.dispose()
  }

  #open(): Promise<OpenModel> {
    this.#opening ??= this.#read().catch(error => {
      // Not cached, so that a corrected file works without a restart.
      this.#opening = null
      throw error
    })
    return this.#opening
  }

  async #read(): Promise<OpenModel> {
    const { path, contextTokens: wanted, threads } = this.#options
    const { getLlama, LlamaChat } = await loadLlama()
    const llama = await getLlama({ gpu: false, build: 'never', skipDownload: true, logLevel: 'disabled' })
    const model = await llama.loadModel({ modelPath: path })
    const contextTokens = Math.max(wanted ?? Math.min(model.trainContextSize, ggufContextTokens), leastContextTokens)
    const context = await model.createContext({
      contextSize: contextTokens,
      sequences: this.#parallel,
      ...(threads ? { threads } : {}),
    })
    return { llama, LlamaChat, model, context, contextTokens }
  }
}
