import type { ChatCompletion, ChatCompletionChunk, TokenUsage } from '#contract/operations/chat.ts'
import type { ChatCall, ChatEngine } from '#engines/ports/engine.ts'

/** One step of an engine. */
export type Beat =
  /** With `running` it says as well what was used until then. */
  | { text: string; choice?: number; running?: TokenUsage }
  | { role: true }
  /** Whatever members a piece may have. */
  | { delta: Record<string, unknown> }
  | { usage: TokenUsage }
  | { fail: unknown }
  | { until: Promise<unknown> }
  /** Nothing more, until it is aborted. */
  | 'silence'

/** What it does when it is aborted. */
export type WhenAborted = 'ends' | 'goes on' | { usage: TokenUsage }

export const used = (prompt: number, completion: number): TokenUsage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
})

export const words = (...each: string[]): Beat[] => each.map(text => ({ text }))
export const manyWords = (count: number): Beat[] => words(...Array.from({ length: count }, () => ' word'))

const head = { id: 'scripted', created: 1, model: 'scripted' }

/** An engine that plays what a test has written, at the port. */
export class ScriptedChat implements ChatEngine {
  /** Beyond the published members. */
  readonly passMembers = ['functions']
  beats: readonly Beat[] = []
  whenAborted: WhenAborted = 'ends'
  readonly calls: ChatCall[] = []

  play(beats: readonly Beat[], whenAborted: WhenAborted = 'ends'): void {
    this.beats = beats
    this.whenAborted = whenAborted
    this.calls.length = 0
  }

  async complete(call: ChatCall): Promise<ChatCompletion> {
    this.calls.push(call)
    let content = ''
    let usage: TokenUsage | undefined
    for (const beat of this.beats) {
      if (beat === 'silence') await this.#silence(call.signal)
      else if ('until' in beat) await beat.until
      else if ('fail' in beat) throw beat.fail
      else if ('usage' in beat) usage = beat.usage
      else if ('text' in beat) content += beat.text
    }
    const message = { role: 'assistant' as const, content }
    return {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, finish_reason: 'stop', message }],
      ...(usage ? { usage } : {}),
    }
  }

  async *stream(call: ChatCall): AsyncGenerator<ChatCompletionChunk> {
    this.calls.push(call)
    for (const beat of this.beats) {
      if (call.signal.aborted && this.whenAborted !== 'goes on') break
      if (beat === 'silence') await this.#silence(call.signal)
      else if ('until' in beat) await Promise.race([beat.until, this.#silence(call.signal)])
      else if ('fail' in beat) throw beat.fail
      else yield chunkOf(beat)
    }
    if (!call.signal.aborted) return
    if (typeof this.whenAborted === 'object') yield chunkOf(this.whenAborted)
    else throw call.signal.reason
  }

  #silence(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      if (this.whenAborted === 'goes on') return
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

function chunkOf(beat: Exclude<Beat, 'silence' | { fail: unknown } | { until: unknown }>): ChatCompletionChunk {
  const frame = { ...head, object: 'chat.completion.chunk' as const }
  if ('usage' in beat) return { ...frame, choices: [], usage: beat.usage }
  const delta = deltaOf(beat)
  const running = 'text' in beat && beat.running ? { usage: beat.running } : {}
  return {
    ...frame,
    choices: [{ index: 'text' in beat ? (beat.choice ?? 0) : 0, delta, finish_reason: null }],
    ...running,
  }
}

function deltaOf(beat: Extract<Beat, { text: string } | { role: true } | { delta: object }>) {
  if ('delta' in beat) return beat.delta
  return 'role' in beat ? { role: 'assistant', content: '' } : { content: beat.text }
}
