import { isAscii } from 'node:buffer'
import { TokenUsage } from '#contract/operations/chat.ts'
import { isObject } from '#contract/wire/json.ts'
import type { UpstreamAnswer } from '../http/upstream-answer.ts'
import { AnswerTooLarge } from '../http/upstream-error.ts'

/** Longest line of a stream, and data of one event; tool calls may arrive in one piece. */
export const eventCharacters = 1024 * 1024

/** Largest stream; every event repeats some 200 bytes around its text. */
const streamBytes = 64 * 1024 * 1024

/**
 * After the last event of a stream, how long it may take to end, and how many bytes may still arrive, before its
 * connection is closed.
 */
const lingerMs = 1_000
const lingerBytes = 1024

/** The stream has a line or event that is too long to hold in memory. */
export class EventTooLong extends AnswerTooLarge {
  constructor() {
    super(`An event of the engine is longer than ${eventCharacters} characters.`)
    this.name = 'EventTooLong'
  }
}

/** Parses server-sent events from pieces cut anywhere, and returns the data of each complete event. */
export class EventReader {
  /** Node's decoder would remove two byte order marks if the first one arrives in parts, so `#read` removes it. */
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** Whether the decoder may hold the beginning of a character. */
  #mayBeWithin = false
  #isAtStart = true
  /** The beginning of an unfinished line. */
  #line = ''
  #data: string | null = null
  #afterReturn = false

  /** Throws `EventTooLong`. */
  push(bytes: Buffer): string[] {
    return this.#read(this.#decoded(bytes))
  }

  /** Most pieces are ASCII, and need no decoder. */
  #decoded(bytes: Buffer): string {
    const isPlain = isAscii(bytes)
    if (isPlain && !this.#mayBeWithin) return bytes.toString('latin1')
    // An ASCII character ends whatever the decoder holds.
    this.#mayBeWithin = !isPlain || (this.#mayBeWithin && bytes.length === 0)
    return this.#decoder.decode(bytes, { stream: true })
  }

  /** Returns a last event without a blank line after it, which some servers omit. */
  end(): string[] {
    const events = this.#read(`${this.#decoder.decode()}\n\n`)
    this.#data = null
    return events
  }

  #read(text: string): string[] {
    const events: string[] = []
    if (text === '') return events
    let at = (this.#afterReturn && text[0] === '\n') || (this.#isAtStart && text[0] === byteOrderMark) ? 1 : 0
    this.#afterReturn = false
    this.#isAtStart = false
    const endOfLine = text.includes('\r') ? endOfAnyLine : endOfPlainLine
    for (;;) {
      const end = endOfLine(text, at)
      if (end < 0) break
      this.#endLine(text.slice(at, end), events)
      const isReturn = text[end] === '\r'
      at = end + (isReturn && text[end + 1] === '\n' ? 2 : 1)
      this.#afterReturn = isReturn && at === text.length && text[end + 1] === undefined
    }
    this.#line = bounded(this.#line + text.slice(at))
    return events
  }

  #endLine(rest: string, events: string[]): void {
    const line = bounded(this.#line + rest)
    this.#line = ''
    if (line === '') {
      if (this.#data !== null) events.push(this.#data)
      this.#data = null
      return
    }
    // Other fields have no meaning here. A line that begins with a colon is a comment.
    if (!line.startsWith('data:') && line !== 'data') return
    const value = line.slice(line[5] === ' ' ? 6 : 5)
    this.#data = this.#data === null ? value : bounded(`${this.#data}\n${value}`)
  }
}

const byteOrderMark = '\ufeff'
const lineEnd = /[\r\n]/g

const endOfPlainLine = (text: string, from: number): number => text.indexOf('\n', from)

/** A line may also end with a carriage return, alone or before the line feed. */
function endOfAnyLine(text: string, from: number): number {
  lineEnd.lastIndex = from
  return lineEnd.exec(text)?.index ?? -1
}

function bounded(text: string): string {
  if (text.length > eventCharacters) throw new EventTooLong()
  return text
}

/**
 * The events of an answer as they arrive. Reading may stop at any event; `linger` then waits for the end of the answer.
 */
export class EventPieces {
  readonly #answer: UpstreamAnswer
  readonly #reader = new EventReader()
  #bytes = 0
  /** The events that `takeDirectly` left of the last piece. */
  #rest: readonly string[] | null = null

  constructor(answer: UpstreamAnswer) {
    this.#answer = answer
  }

  /**
   * Returns the events that the next piece completes, possibly none; null after the last. Throws what interrupted the
   * body. Events that arrive while this is pending are offered to `takeDirectly` first.
   */
  async next(takeDirectly?: (event: string) => boolean): Promise<readonly string[] | null> {
    const bytes = await this.#answer.next(takeDirectly && (piece => this.#takeAll(piece, takeDirectly)))
    if (!bytes) return this.#lastEvents()
    const rest = this.#rest
    this.#rest = null
    return rest ?? this.#read(bytes)
  }

  /** Offers the events of a piece until one is not taken; this and later ones are returned by `next`. */
  #takeAll(bytes: Buffer, takeDirectly: (event: string) => boolean): boolean {
    const events = this.#read(bytes)
    const left = events.findIndex(event => !takeDirectly(event))
    if (left < 0) return true
    this.#rest = events.slice(left)
    return false
  }

  #read(bytes: Buffer): string[] {
    this.#bytes += bytes.length
    if (this.#bytes > streamBytes) throw new AnswerTooLarge('The engine’s stream is too large.')
    return this.#reader.push(bytes)
  }

  #lastEvents(): readonly string[] | null {
    const events = this.#reader.end()
    return events.length ? events : null
  }

  /**
   * Reads what follows the last event, which is little; if the server does not end the answer, the connection is
   * closed.
   */
  linger(): void {
    this.#answer.linger(lingerBytes, lingerMs)
  }
}

/** How servers report usage while generating: vLLM and similar ones in `usage`, llama.cpp in `timings`. */
export const runningUsages = ['continuous_usage_stats', 'timings_per_token'] as const
export type RunningUsageName = (typeof runningUsages)[number]

/** Returns the members that request it for a stream. */
export const askedRunningUsage = (name: RunningUsageName | undefined): Record<string, unknown> => {
  if (name === undefined) return {}
  if (name === 'timings_per_token') return { timings_per_token: true }
  return { stream_options: { include_usage: true, continuous_usage_stats: true } }
}

/** Adds running usage to events as the total of all choices; servers report it for the event's choice. */
export class RunningUsage {
  readonly #name: RunningUsageName
  /** Completion tokens of each choice. */
  readonly #completions = new Map<number, number>()

  constructor(name: RunningUsageName) {
    this.#name = name
  }

  /** Reads one event from the server. Its last usage, which comes without a choice, already covers all choices. */
  read(event: Record<string, unknown>): Record<string, unknown> {
    const { timings, ...rest } = event
    const [choice] = Array.isArray(event.choices) ? event.choices : []
    if (!isObject(choice)) return rest
    const reported = this.#name === 'timings_per_token' ? ofTimings(timings) : TokenUsage.safeParse(event.usage).data
    if (!reported) return rest
    this.#completions.set(typeof choice.index === 'number' ? choice.index : 0, reported.completion_tokens)
    const completion = [...this.#completions.values()].reduce((sum, tokens) => sum + tokens, 0)
    const prompt = reported.prompt_tokens
    return {
      ...rest,
      usage: { ...reported, prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    }
  }
}

/** llama.cpp counts prompt tokens from its cache separately. */
function ofTimings(timings: unknown): TokenUsage | undefined {
  if (!isObject(timings)) return undefined
  const { prompt_n: prompt, cache_n: cached = 0, predicted_n: completion } = timings
  const usage = { prompt_tokens: Number(prompt) + Number(cached), completion_tokens: completion }
  return TokenUsage.safeParse({ ...usage, total_tokens: 0 }).data
}
