import { expect, test } from 'vitest'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { planGeneration } from '#engines/gguf/generation.ts'
import type { LlamaChat, OpenModel } from '#engines/gguf/model-file.ts'

/** A model of no tokens, so that only the conversation matters. */
const open = { contextTokens: 4_096, model: { tokenizer: () => [] }, llama: {} } as unknown as OpenModel
const chat = {
  chatWrapper: { generateContextState: () => ({ contextText: { tokenize: () => [] } }) },
} as unknown as LlamaChat

const turnsOf = async (messages: readonly object[]) => {
  const request = { model: 'm', messages } as unknown as ChatCompletionRequest
  const call = { request, engineModel: 'm', maxCompletionTokens: 8, signal: new AbortController().signal }
  return (await planGeneration(call, open, chat)).turns
}

const called = (city: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'weather', arguments: JSON.stringify({ city }) } }],
})
const told = (content: string) => ({ role: 'tool', tool_call_id: 'call_0', content })

test('a result belongs to the latest call with its id', async () => {
  const turns = await turnsOf([called('Bern'), told('Snow'), called('Rome'), told('Sun')])
  expect(turns.flatMap(turn => (turn.type === 'model' ? turn.response : []))).toMatchObject([
    { params: { city: 'Bern' }, result: 'Snow' },
    { params: { city: 'Rome' }, result: 'Sun' },
  ])
})
