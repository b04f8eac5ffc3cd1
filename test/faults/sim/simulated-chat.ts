import type { ChatCompletion, ChatCompletionChunk, TokenUsage } from '#contract/operations/chat.ts'
import type { ChatCall, ChatEngine } from '#engines/ports/engine.ts'
import type { Seeded } from '../seeded.ts'
import type { Sometimes } from './sometimes.ts'
import { answered, type Machine } from './virtual-machine.ts'

/** What an engine may do with a call; the first is the correct behaviour. */
const behaviours = [
  'answers',
  'fails before the first byte',
  'breaks off',
  'hangs',
  'reports no usage',
  'reports ten times the usage',
  'says nothing',
] as const
type Behaviour = (typeof behaviours)[number]

/** An engine's own patience; real ones have a deadline as well. */
const hangMs = 120_000

/** What calls of the engines have delivered, by the name that the caller put into the request. */
export interface Delivered {
  pieces: number
  reported: boolean
}

export interface SimulatedChatOptions {
  machine: Machine
  draws: Seeded
  /** One call in so many meets trouble; 0 for none. */
  weather: { troubleOnceIn: number }
  delivered: Map<string, Delivered>
  sometimes: Sometimes
}

/** A language model that counts words, on one machine. */
export class SimulatedChat implements ChatEngine {
  readonly #options: SimulatedChatOptions

  constructor(options: SimulatedChatOptions) {
    this.#options = options
  }

  async complete(call: ChatCall): Promise<ChatCompletion> {
    const delivered = this.#deliveredTo(call)
    const behaviour = this.#behaviour()
    await this.#pause(call, 5 + this.#options.draws.below(3_000))
    if (behaviour === 'hangs') await this.#pause(call, hangMs)
    if (behaviour === 'fails before the first byte' || behaviour === 'breaks off' || behaviour === 'hangs') {
      throw new Error(`Simulated: the engine ${behaviour}.`)
    }
    const words = behaviour === 'says nothing' ? 0 : this.#words(call)
    const usage = this.#usage(call, words, behaviour)
    if (words > 0) delivered.pieces++
    delivered.reported ||= usage !== undefined
    return {
      id: `chatcmpl-${this.#options.draws.below(2 ** 31)}`,
      object: 'chat.completion',
      created: 1_793_491_200,
      model: call.engineModel,
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'word '.repeat(words) } }],
      ...(usage ? { usage } : {}),
    }
  }

  async *stream(call: ChatCall): AsyncGenerator<ChatCompletionChunk> {
    const { draws } = this.#options
    const delivered = this.#deliveredTo(call)
    const behaviour = this.#behaviour()
    const chunks = behaviour === 'says nothing' ? 0 : 1 + draws.below(12)
    const breaksAt = behaviour === 'breaks off' || behaviour === 'hangs' ? draws.below(chunks + 1) : -1
    await this.#pause(call, 5 + draws.below(1_000))
    if (behaviour === 'fails before the first byte') throw new Error('Simulated: the engine fails.')
    const each = Math.floor(this.#words(call) / Math.max(1, chunks))
    yield chunkOf(call, { role: 'assistant', content: '' })
    for (let index = 0; index < chunks; index++) {
      if (index === breaksAt) await this.#breakOff(call, behaviour)
      await this.#pause(call, draws.once(10) ? draws.below(15_000) : draws.below(200))
      if (each > 0) delivered.pieces++
      yield chunkOf(call, { content: 'word '.repeat(each) })
    }
    if (breaksAt >= chunks) await this.#breakOff(call, behaviour)
    yield chunkOf(call, {}, 'stop')
    const usage = this.#usage(call, each * chunks, behaviour)
    if (!usage) return
    delivered.reported = true
    yield { ...chunkOf(call, {}), choices: [], usage }
  }

  async #breakOff(call: ChatCall, behaviour: Behaviour): Promise<void> {
    if (behaviour === 'hangs') await this.#pause(call, hangMs)
    throw new Error(`Simulated: the engine ${behaviour}.`)
  }

  #behaviour(): Behaviour {
    const { draws, weather, sometimes } = this.#options
    const isTroubled = weather.troubleOnceIn > 0 && draws.once(weather.troubleOnceIn)
    const behaviour = isTroubled ? (draws.pick(behaviours) ?? 'answers') : 'answers'
    if (behaviour !== 'answers') sometimes.reached(`an engine ${behaviour}`)
    return behaviour
  }

  #words({ maxCompletionTokens }: ChatCall): number {
    return 1 + this.#options.draws.below(Math.min(maxCompletionTokens, 900))
  }

  #usage({ request }: ChatCall, words: number, behaviour: Behaviour): TokenUsage | undefined {
    if (behaviour === 'reports no usage') return undefined
    const times = behaviour === 'reports ten times the usage' ? 10 : 1
    const prompt = times * (8 + request.messages.length * 4)
    return { prompt_tokens: prompt, completion_tokens: times * words, total_tokens: prompt + times * words }
  }

  /** Ends early with an error when the caller has left. */
  #pause({ signal }: ChatCall, ms: number): Promise<void> {
    const { machine } = this.#options
    return answered(
      machine,
      new Promise((resolve, reject) => {
        const leave = () => {
          timer.cancel()
          reject(Object.assign(new Error('The caller has left.'), { name: 'AbortError' }))
        }
        const timer = machine.after(ms, () => {
          signal.removeEventListener('abort', leave)
          resolve()
        })
        if (signal.aborted) leave()
        else signal.addEventListener('abort', leave, { once: true })
      }),
    )
  }

  #deliveredTo({ request }: ChatCall): Delivered {
    const { delivered } = this.#options
    const name = String(request.prompt_cache_key)
    const known = delivered.get(name) ?? { pieces: 0, reported: false }
    delivered.set(name, known)
    return known
  }
}

type Delta = ChatCompletionChunk['choices'][number]['delta']

const chunkOf = (call: ChatCall, delta: Delta, finish: string | null = null): ChatCompletionChunk => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_793_491_200,
  model: call.engineModel,
  choices: [{ index: 0, delta, finish_reason: finish }],
})
