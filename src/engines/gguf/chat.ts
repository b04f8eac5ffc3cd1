import { randomUUID } from 'node:crypto'
import { inferenceFailed } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { ChatCompletion, ChatCompletionChunk, TokenUsage } from '#contract/operations/chat.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import type { ChatCall, ChatEngine } from '../ports/engine.ts'
import { type Generation, planGeneration, seedOf } from './generation.ts'
import {
  type GgufOptions,
  type LlamaChat,
  type LlamaChunk,
  type LlamaResponse,
  type LlamaSequence,
  ModelFile,
  type OpenModel,
} from './model-file.ts'

export interface GgufChatOptions extends GgufOptions {
  clock?: Clock
  /** What went wrong with the file, for a log; callers are not told. */
  onProblem?: (error: unknown) => void
}

/** The model's output for one choice. */
interface Choice {
  text: string
  thought: string
  thoughtTokens: number
  response: LlamaResponse
}

/** Runs a GGUF file with llama.cpp in this process; no server is needed. */
export class GgufChat implements ChatEngine {
  readonly #file: ModelFile
  readonly #clock: Clock
  readonly #onProblem: (error: unknown) => void

  constructor({ clock = systemClock, onProblem = () => {}, ...options }: GgufChatOptions) {
    this.#file = new ModelFile(options)
    this.#clock = clock
    this.#onProblem = onProblem
  }

  async complete(call: ChatCall): Promise<ChatCompletion> {
    const { choices, ...counted } = await this.#generate(call, () => {})
    return {
      ...this.#head(call),
      object: 'chat.completion',
      choices: choices.map((choice, index) => ({
        index,
        finish_reason: finishReason(choice.response),
        logprobs: null,
        message: {
          role: 'assistant',
          content: choice.text,
          ...(choice.thought ? { reasoning_content: choice.thought } : {}),
          ...toolCalls(choice.response),
        },
      })),
      usage: usageOf(counted, choices),
    }
  }

  /** Each chunk reports the usage so far, so that a stream can stop early when its reader leaves. */
  async *stream(call: ChatCall): AsyncGenerator<ChatCompletionChunk> {
    const left = new AbortController()
    const head = { ...this.#head(call), object: 'chat.completion.chunk' as const }
    const queue = new PieceQueue<Pick<ChatCompletionChunk, 'choices' | 'usage'>>()
    const signal = AbortSignal.any([call.signal, left.signal])
    const begun = new Set<number>()
    const generated = this.#generate({ ...call, signal }, (index, { segmentType, text }, counted) => {
      const role = begun.has(index) ? {} : { role: 'assistant' }
      begun.add(index)
      const delta = { ...role, ...(segmentType ? { reasoning_content: text } : { content: text }) }
      queue.push({ choices: [{ index, delta, finish_reason: null }], usage: usageOf(counted, []) })
    }).finally(() => queue.end())
    // Its error is thrown below, after the output that came before it.
    generated.catch(() => undefined)
    try {
      for await (const piece of queue) yield { ...head, ...piece }
      const { choices, ...counted } = await generated
      for (const [index, { response }] of choices.entries()) {
        yield { ...head, choices: [{ index, delta: toolCalls(response), finish_reason: finishReason(response) }] }
      }
      yield { ...head, choices: [], usage: usageOf(counted, choices) }
    } finally {
      left.abort()
    }
  }

  /** Frees the memory. */
  close(): Promise<void> {
    return this.#file.close()
  }

  async #generate(call: ChatCall, onChunk: (index: number, chunk: LlamaChunk, counted: Counted) => void) {
    const { signal, request } = call
    signal.throwIfAborted()
    try {
      return await this.#file.use(open =>
        withChat(open, async (chat, sequence) => {
          const generation = await planGeneration(call, open, chat)
          const choices: Choice[] = []
          const counted = () => ({
            promptTokens: generation.promptTokens,
            completionTokens: sequence.tokenMeter.usedOutputTokens,
          })
          for (let index = 0; index < (request.n ?? 1); index++) {
            choices.push(
              await choose({ chat, generation, signal, seed: seedOf(request, index) }, chunk =>
                onChunk(index, chunk, counted()),
              ),
            )
          }
          return { choices, ...counted() }
        }),
      )
    } catch (error) {
      if (signal.aborted || error instanceof ServiceError) throw error
      this.#onProblem(error)
      throw inferenceFailed()
    }
  }

  #head({ engineModel }: ChatCall) {
    return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(this.#clock.now() / 1000), model: engineModel }
  }
}

/** Uses a sequence of the context for one call; what it has read is dropped afterwards. */
async function withChat<Result>(
  open: OpenModel,
  run: (chat: LlamaChat, sequence: LlamaSequence) => Promise<Result>,
): Promise<Result> {
  const sequence = open.context.getSequence()
  try {
    return await run(new open.LlamaChat({ contextSequence: sequence }), sequence)
  } finally {
    sequence.dispose()
  }
}

async function choose(
  { chat, generation, signal, seed }: { chat: LlamaChat; generation: Generation; signal: AbortSignal; seed: number },
  onChunk: (chunk: LlamaChunk) => void,
): Promise<Choice> {
  const said = { text: '', thought: '', thoughtTokens: 0 }
  const response = await chat.generateResponse(generation.turns, {
    ...generation.options,
    seed,
    signal,
    onResponseChunk(chunk) {
      const { segmentType, text, tokens } = chunk
      if (segmentType) said.thoughtTokens += tokens.length
      if (segmentType) said.thought += text
      else said.text += text
      if (text) onChunk(chunk)
    },
  })
  return { ...said, response }
}

function finishReason({ metadata, functionCalls }: LlamaResponse): string {
  if (functionCalls?.length) return 'tool_calls'
  return metadata.stopReason === 'maxTokens' ? 'length' : 'stop'
}

function toolCalls({ functionCalls = [] }: LlamaResponse) {
  if (!functionCalls.length) return {}
  const calls = functionCalls.map(({ functionName, params }, index) => ({
    index,
    id: `call_${randomUUID()}`,
    type: 'function',
    function: { name: functionName, arguments: JSON.stringify(params ?? {}) },
  }))
  return { tool_calls: calls }
}

interface Counted {
  promptTokens: number
  completionTokens: number
}

function usageOf(
  { promptTokens: prompt, completionTokens: completion }: Counted,
  choices: readonly Choice[],
): TokenUsage {
  const thought = choices.reduce((all, { thoughtTokens }) => all + thoughtTokens, 0)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(thought ? { completion_tokens_details: { reasoning_tokens: thought } } : {}),
  }
}

/** Queues what a producer pushes, for a reader that takes it in order. Its length is at most one answer. */
class PieceQueue<Piece> implements AsyncIterable<Piece> {
  readonly #pieces: Piece[] = []
  #wake: () => void = () => {}
  #isOver = false

  push(piece: Piece): void {
    this.#pieces.push(piece)
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Piece> {
    for (;;) {
      for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) yield piece
      if (this.#isOver) return
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}
