import { modelOverloaded } from '#contract/errors/errors.ts'
import { optionalPackage } from '#host/packages.ts'

/** The context of a GGUF file, where its operator says nothing: longer ones cost memory that most prompts never use. */
const ggufContextTokens = 8_192

/** llama.cpp makes no context that is shorter. */
const leastContextTokens = 1_024

/** What is used of `node-llama-cpp`, which brings llama.cpp built for this machine. */
interface LlamaPackage {
  getLlama(options: { gpu: false; build: 'never'; skipDownload: true; logLevel: string }): Promise<Llama>
  LlamaChat: new (options: { contextSequence: LlamaSequence; chatWrapper?: LlamaChatWrapper }) => LlamaChat
}

interface Llama {
  loadModel(options: { modelPath: string }): Promise<LlamaModel>
  /** A grammar of its own: `json` is any JSON. */
  getGrammarFor(name: 'json'): Promise<LlamaGrammar>
  createGrammarForJsonSchema(schema: object): Promise<LlamaGrammar>
}

export type LlamaGrammar = object

interface LlamaModel {
  readonly tokenizer: LlamaTokenizer
  /** Of the text that the model was trained on. */
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
  /** Counts what was generated, calls of functions too. */
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
  /** The file of the model. */
  path: string
  /** Of prompt and answer together; what the model was trained on, or 8,192 where that is more, where absent. */
  contextTokens?: number
  /** Answers that are made at once, each with a context of its own in memory; 1 where absent. More are refused with Retry-After. */
  parallel?: number
  /** Of the processor; all that llama.cpp finds useful where absent. */
  threads?: number
}

/** A model that lies in memory, with room for so many answers at once. */
export interface OpenModel {
  llama: Llama
  LlamaChat: LlamaPackage['LlamaChat']
  model: LlamaModel
  context: LlamaContext
  /** Of prompt and answer together. */
  contextTokens: number
}

/** A file of weights, read with the first call, because that takes seconds and gigabytes. */
export class ModelFile {
  readonly #options: GgufOptions
  readonly #parallel: number
  #opening: Promise<OpenModel> | null = null
  #running = 0

  constructor(options: GgufOptions) {
    this.#options = options
    this.#parallel = options.parallel ?? 1
  }

  /** Throws `modelOverloaded` where no place is free, and a sentence where the file is none of a model. */
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
      // So that a file that is put right serves without a restart.
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
