import { TokenUsage } from '#contract/operations/chat.ts'
import { isObject } from '../http/upstream-error.ts'

/** How a server tells what it used while it generates: vLLM and its likes in `usage`, llama.cpp in `timings`. */
export const runningUsages = ['continuous_usage_stats', 'timings_per_token'] as const
export type RunningUsageName = (typeof runningUsages)[number]

/** What asks for it, in a request for a stream. */
export const askedRunningUsage = (name: RunningUsageName | undefined): Record<string, unknown> => {
  if (name === undefined) return {}
  if (name === 'timings_per_token') return { timings_per_token: true }
  return { stream_options: { include_usage: true, continuous_usage_stats: true } }
}

/** Puts running usage into events as the usage of all choices; servers tell that of the choice that an event is about. */
export class RunningUsage {
  readonly #name: RunningUsageName
  /** Completion tokens of each choice. */
  readonly #completions = new Map<number, number>()

  constructor(name: RunningUsageName) {
    this.#name = name
  }

  /** One event as its server sent it. Its last usage, which comes without a choice, is of all choices already. */
  read(event: Record<string, unknown>): Record<string, unknown> {
    const { timings, ...rest } = event
    const [choice] = Array.isArray(event.choices) ? event.choices : []
    if (!isObject(choice)) return rest
    const told = this.#name === 'timings_per_token' ? ofTimings(timings) : TokenUsage.safeParse(event.usage).data
    if (!told) return rest
    this.#completions.set(typeof choice.index === 'number' ? choice.index : 0, told.completion_tokens)
    const completion = [...this.#completions.values()].reduce((sum, tokens) => sum + tokens, 0)
    const prompt = told.prompt_tokens
    return {
      ...rest,
      usage: { ...told, prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    }
  }
}

/** llama.cpp counts what of the prompt it read from its cache apart. */
function ofTimings(timings: unknown): TokenUsage | undefined {
  if (!isObject(timings)) return undefined
  const { prompt_n: prompt, cache_n: cached = 0, predicted_n: completion } = timings
  const usage = { prompt_tokens: Number(prompt) + Number(cached), completion_tokens: completion }
  return TokenUsage.safeParse({ ...usage, total_tokens: 0 }).data
}
