import type { ChatCompletionChunk } from '#contract/chat.ts'
import type { TokenUsage } from '#contract/chat-completion.ts'
import type { ChatCall, ChatEngine } from '../engines/engine.ts'
import { usageWaitMs } from './bounds.ts'

/** What the engine is asked, which may take a while to be known. */
type Prepare = (signal: AbortSignal) => Promise<Omit<ChatCall, 'signal'>>

type Step = IteratorResult<ChatCompletionChunk>

/** One stream of an engine, which is aborted the moment its reader leaves, and then has a few seconds to say its usage. */
export class EngineRun {
  readonly #engine: ChatEngine
  readonly #prepare: Prepare
  readonly #abort = new AbortController()
  readonly #stopListening: () => void
  #chunks: AsyncIterator<ChatCompletionChunk> | null = null
  #giveUp: () => void = () => undefined
  #wait: NodeJS.Timeout | null = null
  #late = false
  #over = false

  /** Nothing is prepared or asked of the engine before the first `next`. `reader` is aborted when its reader leaves. */
  constructor(engine: ChatEngine, prepare: Prepare, reader: AbortSignal) {
    this.#engine = engine
    this.#prepare = prepare
    const leave = () => this.leave()
    if (reader.aborted) leave()
    reader.addEventListener('abort', leave, { once: true })
    this.#stopListening = () => reader.removeEventListener('abort', leave)
  }

  get left(): boolean {
    return this.#abort.signal.aborted
  }

  leave(): void {
    if (this.left || this.#over) return
    this.#abort.abort()
    this.#wait = setTimeout(() => {
      this.#late = true
      this.#giveUp()
    }, usageWaitMs)
  }

  /** Rejects with the engine's error, and once a run that was left has had its time. */
  async next(): Promise<Step> {
    try {
      const step = await this.#next()
      if (step.done) this.#finish()
      return step
    } catch (error) {
      this.#finish()
      throw error
    }
  }

  #next(): Promise<Step> {
    return new Promise((resolve, reject) => {
      this.#giveUp = () => reject(new Error('The engine did not end in time after it was aborted.'))
      if (this.#late) return this.#giveUp()
      this.#started()
        .then(chunks => chunks.next())
        .then(resolve, reject)
    })
  }

  async #started(): Promise<AsyncIterator<ChatCompletionChunk>> {
    const { signal } = this.#abort
    this.#chunks ??= this.#engine.stream({ ...(await this.#prepare(signal)), signal })[Symbol.asyncIterator]()
    return this.#chunks
  }

  /** Ends the run where it has not ended by itself; tells what the engine says of its usage until then. */
  async end(onUsage: (usage: TokenUsage) => void): Promise<void> {
    this.leave()
    try {
      while (!this.#over && this.#chunks) {
        const step = await this.next()
        if (!step.done && step.value.usage) onUsage(step.value.usage)
      }
    } catch {
      // An aborted engine owes nobody a good end.
    }
  }

  /** Ends it without another word of the engine. */
  drop(): void {
    this.leave()
    this.#finish()
  }

  #finish(): void {
    if (this.#over) return
    this.#over = true
    this.#stopListening()
    if (this.#wait) clearTimeout(this.#wait)
    // Not awaited: an engine that hangs would never let go.
    Promise.resolve(this.#chunks?.return?.()).catch(() => undefined)
  }
}
