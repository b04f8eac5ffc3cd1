import type { ChatCall, ChatEngine } from '#engines/ports/engine.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { TextModel } from '#service/models/model.ts'

/** Uses every token that it is allowed, so that what is charged is what was held. */
export class ExactEngine implements ChatEngine {
  async complete({ maxCompletionTokens }: ChatCall) {
    const message = { role: 'assistant' as const, content: 'word '.repeat(maxCompletionTokens) }
    const usage = { prompt_tokens: 1, completion_tokens: maxCompletionTokens, total_tokens: maxCompletionTokens + 1 }
    return {
      id: 'chatcmpl-exact',
      object: 'chat.completion' as const,
      created: 1_793_491_200,
      model: 'exact',
      choices: [{ index: 0, message, finish_reason: 'length' as const, logprobs: null }],
      usage,
    }
  }

  stream(): never {
    throw new Error('This engine does not stream.')
  }
}

/** A call of ten tokens costs a tenth of a cent. */
export const callTokens = 10
export const callUsd = 0.001

/** Several, because the limit of requests is counted by model. */
export function exactModels(count: number): TextModel[] {
  const engine = new ExactEngine()
  const model = demoModels({ chat: engine, video: { carries: () => false, start: unused, poll: unused } }).find(
    ({ type }) => type === 'text',
  )
  if (model?.type !== 'text') throw new Error('There is a text model.')
  const price = { inputPicoUsd: 0n, outputPicoUsd: 100_000_000n }
  return Array.from({ length: count }, (_, index) => ({ ...model, id: `exact-${index}`, traits: [], price, engine }))
}

const unused = () => Promise.reject(new Error('There is no video here.'))
