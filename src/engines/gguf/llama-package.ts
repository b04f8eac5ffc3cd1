import { optionalPackage } from '#host/optional-package.ts'

/** What is used of `node-llama-cpp`, which brings llama.cpp built for this machine. */
export interface LlamaPackage {
  getLlama(options: { gpu: false; build: 'never'; skipDownload: true; logLevel: string }): Promise<Llama>
  LlamaChat: new (options: { contextSequence: LlamaSequence; chatWrapper?: LlamaChatWrapper }) => LlamaChat
}

export interface Llama {
  loadModel(options: { modelPath: string }): Promise<LlamaModel>
  /** A grammar of its own: `json` is any JSON. */
  getGrammarFor(name: 'json'): Promise<LlamaGrammar>
  createGrammarForJsonSchema(schema: object): Promise<LlamaGrammar>
}

export type LlamaGrammar = object

export interface LlamaModel {
  readonly tokenizer: LlamaTokenizer
  /** Of the text that the model was trained on. */
  readonly trainContextSize: number
  createContext(options: { contextSize: number; sequences: number; threads?: number }): Promise<LlamaContext>
  dispose(): Promise<void>
}

type LlamaTokenizer = (text: string) => unknown[]

export interface LlamaContext {
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

export const loadLlama = (): Promise<LlamaPackage> => optionalPackage<LlamaPackage>('node-llama-cpp', 'A GGUF file')
