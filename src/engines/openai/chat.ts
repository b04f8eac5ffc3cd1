import type { ChatCompletion, ChatCompletionChunk } from '#contract/operations/chat.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import { FollowingAbort } from '#host/async.ts'
import { readChunk, readCompletion, readObject } from '../http/read-answer.ts'
import { OpenAiUpstream } from '../http/upstream.ts'
import { errorIn, eventError } from '../http/upstream-error.ts'
import { answerBytes, type UpstreamOptions } from '../http/upstream-options.ts'
import { askedTokens, type ChatCall, type ChatEngine } from '../ports/engine.ts'
import { chatMembers, handedOn, type Members, withoutNames } from '../ports/published-members.ts'
import { ChunkShape, type TextChunk } from '../ports/text-chunk.ts'
import { askedRunningUsage, EventPieces, RunningUsage, type RunningUsageName } from './chat-stream.ts'
import { plainInstructions } from './instructions.ts'
import { SearchedEvents, searchedCompletion, searchedRequest } from './searched-chat.ts'

export interface OpenAiChatOptions extends UpstreamOptions {
  lengthMember?: Forwarding['lengthMember']
  /** Paths of members to forward in addition to the published ones. */
  passMembers?: readonly string[]
  /** The server always reports the usage of a stream, and rejects the member that asks for it. */
  lacksStreamOptions?: boolean
  /** How the server reports running usage in a stream; not requested if absent. */
  runningUsage?: RunningUsageName | undefined
  /**
   * Members that turn off a model's thinking, if setting an effort is not enough: `{ chat_template_kwargs: {
   * enable_thinking: false } }`.
   */
  withoutThinking?: Readonly<Record<string, unknown>>
  /** Members that a call adds to its request. */
  optionMembers?: (call: ChatCall) => Record<string, unknown>
  /**
   * The server's own search of the web and X: through xAI's Responses, or by members that a gateway accepts in a chat;
   * none if absent.
   */
  xSearch?: 'responses' | Readonly<Record<string, unknown>>
  /** Moves the sources of a search, in an answer or chunk, to `citations`, where a chat has them. */
  searchedAnswer?: (answer: Record<string, unknown>) => Record<string, unknown>
  clock?: Clock
}

/** Any server with OpenAI's chat completions API. */
export class OpenAiChat implements ChatEngine {
  readonly #upstream: OpenAiUpstream
  readonly #optionMembers: NonNullable<OpenAiChatOptions['optionMembers']>
  readonly #xSearch: OpenAiChatOptions['xSearch'] | undefined
  readonly #searchedAnswer: NonNullable<OpenAiChatOptions['searchedAnswer']>
  readonly #responses: OpenAiUpstream | null
  readonly hasXSearch: boolean
  readonly #withoutThinking: Readonly<Record<string, unknown>>
  readonly #clock: Clock
  readonly #forwarding: Omit<Forwarding, 'stream'>
  readonly #runningUsage: RunningUsageName | undefined
  readonly passMembers: readonly string[]

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: OpenAiChatOptions) {
    this.#upstream = new OpenAiUpstream(options, '/chat/completions')
    this.passMembers = options.passMembers ?? []
    this.#forwarding = {
      lengthMember: options.lengthMember ?? 'max_tokens',
      members: forwardedMembers(this.passMembers),
      hasStreamOptions: !options.lacksStreamOptions,
    }
    this.#withoutThinking = options.withoutThinking ?? {}
    this.#runningUsage = options.runningUsage
    this.#optionMembers = options.optionMembers ?? (() => ({}))
    this.#xSearch = options.xSearch
    this.#searchedAnswer = options.searchedAnswer ?? (answer => answer)
    this.hasXSearch = options.xSearch !== undefined
    this.#responses = options.xSearch === 'responses' ? new OpenAiUpstream(options, '/responses') : null
    this.#clock = options.clock ?? systemClock
  }

  async complete(call: ChatCall): Promise<ChatCompletion> {
    const { request, signal } = call
    const { upstream, isResponses } = this.#wayOf(call)
    try {
      const body = isResponses ? this.#searching(call, false) : this.#forwarded(call, false)
      const value = await upstream.json({ body, request, signal }, answerBytes)
      const failed = value && errorIn(value)
      if (failed) throw eventError(failed, request)
      const answer = value && (isResponses ? searchedCompletion(value) : this.#readAnswer(call, value))
      const completion = answer && readCompletion(answer, this.#nowSeconds())
      if (!completion) throw new Error("The engine's answer is not a chat completion.")
      return completion
    } catch (error) {
      throw upstream.known(error, signal)
    }
  }

  async *stream(call: ChatCall): AsyncGenerator<ChatCompletionChunk> {
    const { request } = call
    const { upstream, isResponses } = this.#wayOf(call)
    const abort = new FollowingAbort(call.signal, upstream.timeouts.streamMs)
    let events: EventPieces | null = null
    let isDone = false
    const finished = new Set<number>()
    const read = isResponses ? readerOfResponse() : this.#readerOf(call)
    try {
      const body = isResponses ? this.#searching(call, true) : this.#forwarded(call, true)
      const answer = await upstream.post({ body, request, stream: true, signal: abort.signal })
      let shape: ChunkShape | null = null
      const takeDirectly = (data: string) => {
        const same: TextChunk | null = shape?.read(data) ?? null
        return same !== null && call.takeDirectly?.(same) === true
      }
      events = new EventPieces(answer)
      while (!isDone) {
        const piece = await events.next(call.takeDirectly && takeDirectly).catch(error => {
          // Nothing is missing but the end of the stream.
          if (finished.size >= (request.n ?? 1) && !call.signal.aborted) return null
          throw error
        })
        if (!piece) break
        for (const data of piece) {
          isDone = data === '[DONE]'
          if (isDone) break
          const same: TextChunk | null = shape?.read(data) ?? null
          if (same) {
            yield same
            continue
          }
          const chunks = this.#chunks(data, call, read)
          if (chunks[0] && !call.searchesX) shape = ChunkShape.of(chunks[0], data)
          for (const chunk of chunks) {
            for (const choice of chunk.choices) if (choice.finish_reason) finished.add(choice.index)
            yield chunk
          }
        }
      }
      if (!isDone && finished.size === 0) throw new Error('The engine’s stream ended early.')
    } catch (error) {
      throw upstream.known(error, call.signal)
    } finally {
      // After a normal end its connection may serve the next call; otherwise the upstream call is aborted here.
      if (isDone) events?.linger()
      else abort.abort()
      abort.release()
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#upstream.close(), this.#responses?.close()])
  }

  #forwarded(call: ChatCall, stream: boolean): Record<string, unknown> {
    return {
      ...forwardedRequest(call, { stream, ...this.#forwarding }),
      ...(stream ? askedRunningUsage(this.#runningUsage) : {}),
      ...(call.isThinkingOff ? this.#withoutThinking : {}),
      ...(call.searchesX && typeof this.#xSearch === 'object' ? this.#xSearch : {}),
      ...this.#optionMembers(call),
    }
  }

  #wayOf({ searchesX }: ChatCall): { upstream: OpenAiUpstream; isResponses: boolean } {
    if (searchesX && this.#responses) return { upstream: this.#responses, isResponses: true }
    return { upstream: this.#upstream, isResponses: false }
  }

  #searching(call: ChatCall, stream: boolean): Record<string, unknown> {
    return { ...searchedRequest(call, stream), ...(call.isThinkingOff ? this.#withoutThinking : {}) }
  }

  #readerOf(call: ChatCall): EventReading {
    const running = this.#runningUsage && new RunningUsage(this.#runningUsage)
    return event => [this.#readAnswer(call, running?.read(event) ?? event)]
  }

  #readAnswer({ searchesX }: ChatCall, answer: Record<string, unknown>): Record<string, unknown> {
    return searchesX ? this.#searchedAnswer(answer) : answer
  }

  #chunks(data: string, { request }: ChatCall, read: EventReading): ChatCompletionChunk[] {
    const value = readObject(data)
    if (!value) throw new Error('The engine sent an event that is not a chunk.')
    return read(value).map(each => {
      const failed = each.error || errorIn(each)
      if (failed) throw eventError(failed, request)
      const chunk = readChunk(each, this.#nowSeconds())
      if (!chunk) throw new Error('The engine sent an event that is not a chunk.')
      return chunk
    })
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.now() / 1000)
  }
}

/** Converts an engine's event to events of a chat. */
type EventReading = (event: Record<string, unknown>) => Record<string, unknown>[]

function readerOfResponse(): EventReading {
  const events = new SearchedEvents()
  return event => events.read(event)
}

interface Forwarding {
  stream: boolean
  /** The engine's member for the maximum number of answer tokens. */
  lengthMember: 'max_tokens' | 'max_completion_tokens'
  members: Members
  hasStreamOptions: boolean
}

/** Members that this service sets itself: the model, the length of the answer, and its form. */
export const ownMembers: readonly string[] = [
  'model',
  'max_tokens',
  'max_completion_tokens',
  'stream',
  'stream_options',
  'service_parameters',
]

/**
 * The members of a caller's request that a server with OpenAI's API gets: the published ones, and those that its
 * operator adds.
 */
const forwardedMembers = (passMembers: readonly string[] = []): Members =>
  withoutNames(chatMembers(passMembers), ownMembers)

/**
 * Writes a request in the engine's terms. Members in `members` pass unchanged, except instructions, and nothing else from
 * the caller does.
 */
function forwardedRequest(
  call: ChatCall,
  { stream, lengthMember, members, hasStreamOptions }: Forwarding,
): Record<string, unknown> {
  const { request, engineModel, maxCompletionTokens } = call
  const each = Math.max(1, Math.floor(maxCompletionTokens / (request.n ?? 1)))
  const passed = handedOn(request, members)
  return {
    ...passed,
    messages: plainInstructions(passed.messages),
    model: engineModel,
    [lengthMember]: Math.min(each, askedTokens(request) ?? each),
    stream,
    ...(stream && hasStreamOptions ? { stream_options: { include_usage: true } } : {}),
  }
}
