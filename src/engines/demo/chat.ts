import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base'
import { fieldError } from '#contract/errors/issues.ts'
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  ChatMessage,
  TokenUsage,
} from '#contract/operations/chat.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import { askedTokens, type ChatCall, type ChatEngine } from '../ports/engine.ts'
import { countPromptTokens, countTokens, tokenizedPieceCharacters } from '../tokens/count-tokens.ts'

/** How much of a message the demonstration quotes, so that its answers stay short. */
const quotedCharacters = 240

/** The highest number that the demonstration counts to: enough for a long stream. */
const countedNumbers = 10_000

/** Pause between two chunks, so that a stream is visible as one. */
const chunkPauseMs = 15

/** Maximum sum of pauses in a stream, so that a long answer is not slow. */
const streamPauseMs = 4_000

export interface DemoChatOptions {
  clock?: Clock
  /** Waits between two chunks; rejects when the signal aborts. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

const realPause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal })

/**
 * Answers from the request itself, and behaves as an engine should: tokens, stop sequences, choices, streams, aborts.
 */
export class DemoChat implements ChatEngine {
  readonly #clock: Clock
  readonly #pause: (ms: number, signal: AbortSignal) => Promise<void>

  constructor({ clock = systemClock, pause = realPause }: DemoChatOptions = {}) {
    this.#clock = clock
    this.#pause = pause
  }

  async complete(call: ChatCall): Promise<ChatCompletion> {
    call.signal.throwIfAborted()
    const choices = answers(call)
    return {
      ...this.#head(call),
      object: 'chat.completion',
      choices: choices.map((choice, index) => ({
        index,
        finish_reason: choice.reason,
        stop_reason: choice.stopped,
        logprobs: null,
        message: { role: 'assistant', content: choice.pieces.join('') },
      })),
      usage: usageOf(call.request, choices),
    }
  }

  async *stream(call: ChatCall): AsyncGenerator<ChatCompletionChunk> {
    call.signal.throwIfAborted()
    const choices = answers(call)
    const head: Pick<ChatCompletionChunk, 'id' | 'created' | 'model' | 'object'> = {
      ...this.#head(call),
      object: 'chat.completion.chunk',
    }
    const pauseMs = Math.min(chunkPauseMs, streamPauseMs / Math.max(1, sum(choices.map(({ pieces }) => pieces.length))))
    for (const [index, { pieces, reason }] of choices.entries()) {
      yield { ...head, choices: [{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }] }
      for (const content of pieces) {
        await this.#pause(pauseMs, call.signal)
        yield { ...head, choices: [{ index, delta: { content }, finish_reason: null }] }
      }
      call.signal.throwIfAborted()
      yield { ...head, choices: [{ index, delta: {}, finish_reason: reason }] }
    }
    yield { ...head, choices: [], usage: usageOf(call.request, choices) }
  }

  #head({ engineModel }: ChatCall) {
    return {
      id: `chatcmpl-${randomUUID()}`,
      created: Math.floor(this.#clock.now() / 1000),
      model: engineModel,
    }
  }
}

function answers({ request, maxCompletionTokens }: ChatCall): Finished[] {
  if (request.response_format?.type === 'json_schema') {
    throw fieldError(['response_format', 'type'], 'demo-chat follows no schema; allowed values: text, json_object')
  }
  const count = request.n ?? 1
  const most = Math.min(Math.floor(maxCompletionTokens / count), askedTokens(request) ?? Number.POSITIVE_INFINITY)
  const thinking = isThinkingAsked(request) ? composeThinking(request) : ''
  const stops = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? [])
  return Array.from({ length: count }, (_, index) => finishText(thinking + composeAnswer(request, index), most, stops))
}

function isThinkingAsked({ reasoning_effort: effort, reasoning, service_parameters: own }: ChatCompletionRequest) {
  const asked = effort ?? reasoning?.effort ?? 'none'
  return asked !== 'none' && own?.disable_thinking !== true
}

function usageOf(request: ChatCompletionRequest, choices: readonly Finished[]): TokenUsage {
  const prompt = countPromptTokens(request)
  const completion = sum(choices.map(({ tokens }) => tokens))
  const thought = sum(choices.map(choice => thinkingTokens(choice)))
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(thought ? { completion_tokens_details: { reasoning_tokens: Math.min(thought, completion) } } : {}),
  }
}

function thinkingTokens({ pieces }: Finished): number {
  const text = pieces.join('')
  if (!text.startsWith('<think>')) return 0
  const end = text.indexOf('</think>')
  return countTokens(end < 0 ? text : text.slice(0, end + '</think>'.length))
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

/** Writes what a demonstration can honestly say about a request: facts about it, and that this is a demonstration. */
export function composeAnswer(request: ChatCompletionRequest, choice: number): string {
  const facts = factsOf(request)
  if (request.response_format?.type === 'json_object') return JSON.stringify({ demonstration: true, ...facts })
  const counted = countTo(facts.message)
  const sum = arithmetic(facts.message)
  const choices = request.n ?? 1
  return [
    'This is demo-chat, a demonstration without a language model. It generates this answer from your request.',
    choices > 1 ? `It is choice ${choice + 1} of ${choices}.` : '',
    `The last message has ${plural(facts.words, 'word')} and ${plural(facts.characters, 'character')}: “${facts.message}”`,
    facts.messages > 1 ? `It is the end of ${plural(facts.messages, 'message')}.` : '',
    facts.instructions ? `The instructions begin with “${facts.instructions}”` : '',
    facts.images ? `It carries ${plural(facts.images, 'image')}, which the demonstration ignores.` : '',
    facts.tools.length ? `Offered tools, which the demonstration does not call: ${facts.tools.join(', ')}.` : '',
    sum ? `The arithmetic in it: ${sum}.` : '',
    counted ? `Counting: ${counted}.` : '',
  ]
    .filter(Boolean)
    .join('\n')
}

/** Thinking, as simulated as the answer. */
export const composeThinking = (request: ChatCompletionRequest): string =>
  `<think>\nThe demonstration does not reason. The last message has ${plural(factsOf(request).words, 'word')}; the answer lists facts of the request.\n</think>\n\n`

function factsOf(request: ChatCompletionRequest) {
  const asked = request.messages.findLast(({ role }) => role === 'user') ?? request.messages.at(-1)
  const text = asked ? textOf(asked) : ''
  const instructions = request.messages.filter(({ role }) => role === 'system' || role === 'developer').map(textOf)
  return {
    message: shortened(text),
    words: text.split(/\s+/).filter(Boolean).length,
    characters: [...text].length,
    messages: request.messages.length,
    instructions: shortened(instructions.join(' ')),
    images: Array.isArray(asked?.content) ? asked.content.filter(({ type }) => type === 'image_url').length : 0,
    tools: (request.tools ?? []).flatMap(({ function: called }) => namesOf(called)).slice(0, 16),
  }
}

const namesOf = (called: unknown): string[] =>
  typeof called === 'object' && called !== null && 'name' in called && typeof called.name === 'string'
    ? [shortened(called.name)]
    : []

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** Returns the beginning of a text, on one line. */
function shortened(text: string): string {
  const line = text
    .slice(0, quotedCharacters * 4)
    .replaceAll(/\s+/g, ' ')
    .trim()
  const characters = [...line]
  return characters.length > quotedCharacters ? `${characters.slice(0, quotedCharacters).join('').trimEnd()}…` : line
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

const countRequest = /\bcount (?:from 1 )?to (\d{1,9})\b/i

/** `count to 20`: the only way to request an answer of known length. */
function countTo(text: string): string {
  const asked = Number(countRequest.exec(text)?.[1] ?? 0)
  return Array.from({ length: Math.min(asked, countedNumbers) }, (_, index) => index + 1).join(' ')
}

const expression = /(?<![\d.])(-?\d{1,9}) ?([+\-*/×x]) ?(-?\d{1,9})(?![\d.])/

function arithmetic(text: string): string {
  const [, left = '', operator = '', right = ''] = expression.exec(text) ?? []
  if (operator === '') return ''
  const [a, b] = [Number(left), Number(right)]
  switch (operator) {
    case '+':
      return `${a} + ${b} = ${a + b}`
    case '-':
      return `${a} − ${b} = ${a - b}`
    case '/':
      return b === 0 ? `${a} / 0 has no value` : `${a} / ${b} = ${Number((a / b).toPrecision(12))}`
    default:
      return `${a} × ${b} = ${BigInt(a) * BigInt(b)}`
  }
}

export interface Finished {
  /** The text as a stream would deliver it; joined, they are the whole text. */
  pieces: string[]
  tokens: number
  reason: 'stop' | 'length'
  /** The stop sequence that ended it. */
  stopped: string | null
}

const asText = { disallowedSpecial: new Set<string>() }

/**
 * Ends a text as a model would: at the first stop sequence, or when its tokens are used up, whichever comes first.
 * Tokenizes one word at a time, which is linear, exact for its own count, and gives the pieces of a stream.
 */
export function finishText(text: string, maxTokens: number, stops: readonly string[]): Finished {
  const stop = firstStop(text, stops)
  const wanted = stop ? text.slice(0, stop.at) : text
  const pieces: string[] = []
  let tokens = 0
  for (const word of wordsWithSpace(wanted)) {
    const encoded = encode(word, asText)
    const left = maxTokens - tokens
    if (encoded.length > left) {
      const cut = left > 0 ? whole(decode(encoded.slice(0, left))) : ''
      if (cut) pieces.push(cut)
      return { pieces, tokens: tokens + Math.max(0, left), reason: 'length', stopped: null }
    }
    tokens += encoded.length
    pieces.push(word)
  }
  return { pieces, tokens, reason: 'stop', stopped: stop?.sequence ?? null }
}

/** Splits into words with their leading space; text without spaces is cut, so that no piece is long. */
const wordsWithSpace = (text: string): string[] =>
  (text.match(/\s*\S+|\s+$/gu) ?? []).flatMap(word =>
    word.length <= tokenizedPieceCharacters ? [word] : [...word].reduce(gathered, ['']),
  )

function gathered(pieces: string[], character: string): string[] {
  const last = pieces.at(-1) ?? ''
  if (last.length + character.length > tokenizedPieceCharacters) pieces.push(character)
  else pieces[pieces.length - 1] = last + character
  return pieces
}

/** Drops a character whose bytes were split between two tokens. */
const whole = (text: string): string => text.replace(/\ufffd+$/u, '')

function firstStop(text: string, stops: readonly string[]): { at: number; sequence: string } | null {
  const found = stops
    .filter(sequence => sequence !== '')
    .map(sequence => ({ sequence, at: text.indexOf(sequence) }))
    .filter(({ at }) => at >= 0)
  return found.length ? found.reduce((first, each) => (each.at < first.at ? each : first)) : null
}
