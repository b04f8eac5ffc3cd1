import { modelOverloaded } from '#contract/errors/errors.ts'
import { ggufContextTokens, leastContextTokens } from '../bounds.ts'
import { type Llama, type LlamaContext, type LlamaModel, type LlamaPackage, loadLlama } from './llama-package.ts'

export interface GgufOptions {
  /** The file of the model. */
  path: string
  /** Of prompt and answer together; what the model was trained on, or 8,192 where that is more, where absent. */
  contextTokens?: number
  /** Answers that are made at once, each with a context of its own in memory; 1 where absent. More are told to come again. */
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
