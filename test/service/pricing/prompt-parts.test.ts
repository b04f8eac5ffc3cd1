import { expect, test } from 'vitest'
import { addUsd, microUsd } from '#contract/money.ts'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { countPromptTokens, countTokens } from '#engines/tokens/count-tokens.ts'
import { chatLines, estimateChat, mostWithMedia } from '#service/capabilities/chat/price-chat.ts'
import { textModel } from '../models/example-models.ts'

const request = (change: object = {}) =>
  ChatCompletionRequest.parse({ model: 'demo-chat', messages: [{ role: 'user', content: 'hello' }], ...change })

const model = textModel({
  price: { inputPicoUsd: 1_000_000n, outputPicoUsd: 2_000_000n },
  contextTokens: 10_000,
  maximumCompletionTokens: 500,
})
const held = { hold: microUsd(140n), maxPromptTokens: 100, maxCompletionTokens: 20 }

const text = { type: 'text', text: 'hello' }
const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
const user = (content: unknown) => ({ role: 'user', content })

test.each([
  ['a text keeps to what was held', [user('hello')], 140n],
  ['texts in parts keep to what was held', [user([text, text])], 140n],
  [
    'a message without content keeps to what was held',
    [user('hello'), { role: 'assistant', content: null, tool_calls: [] }],
    140n,
  ],
  ['an image alone may grow to a prompt that fills the context', [user([image])], 10_040n],
  ['one image among texts is enough', [user('hello'), user([text, image]), user('hello')], 10_040n],
])('%s', (_rule, messages, most) => {
  expect(mostWithMedia(model, request({ messages }), held)).toBe(most)
})

test('a prompt that is held for above the context is not held for less because of an image', () => {
  const above = { hold: microUsd(12_040n), maxPromptTokens: 12_000, maxCompletionTokens: 20 }
  expect(mostWithMedia(model, request({ messages: [user([image])] }), above)).toBe(12_040n)
})

test('a maximum above the model’s own is held for as the model’s own', () => {
  const credit = microUsd(1_000_000n)
  const [above, own] = [501, 500].map(max_tokens => estimateChat(model, request({ max_tokens }), credit))
  expect(above).toMatchObject({ maxCompletionTokens: 500 })
  expect(above).toEqual(own)
})

test.each([
  ['a number', { temperature: 0.25 }, 0],
  ['an object of nothing', { metadata: {} }, 0],
  ['nothing', { metadata: null }, 0],
  ['the end of an answer', { stop: 'a long text that ends the answer' }, 0],
  ['a text of a member that is not ours', { metadata: 'abc' }, '"abc"'.length],
  ['an object of such a member', { metadata: { a: 'b' } }, '{"a":"b"}'.length],
])('%s beside the messages is held for by its text alone', (_what, change, bytes) => {
  const credit = microUsd(1_000_000n)
  const [plain, more] = [{}, change].map(each =>
    estimateChat(model, { ...request({ max_tokens: 5 }), ...each }, credit),
  )
  if (!plain || !more || 'needed' in plain || 'needed' in more) throw new Error('The credit is too little.')
  expect(more.maxPromptTokens - plain.maxPromptTokens).toBe(bytes)
})

test('a price of cached tokens above that of others is what is held for', () => {
  const price = { inputPicoUsd: 1_000_000n, cachedInputPicoUsd: 3_000_000n, outputPicoUsd: 0n }
  const estimate = estimateChat({ ...model, price }, request({ max_tokens: 5 }), microUsd(1_000_000n))
  if ('needed' in estimate) throw new Error('The credit is too little.')
  const used = {
    prompt_tokens: estimate.maxPromptTokens,
    completion_tokens: 0,
    total_tokens: estimate.maxPromptTokens,
    prompt_tokens_details: { cached_tokens: estimate.maxPromptTokens },
  }
  expect(estimate.hold).toBe(addUsd(...chatLines({ price }, used).map(({ amount }) => amount)))
})

const counted = (change: object) => countPromptTokens(request(change))
const message = (others: object) => ({ messages: [{ role: 'assistant', content: 'hello', ...others }] })
const schema = { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } }

test.each([
  ['a schema of the answer', { response_format: schema }, countTokens(JSON.stringify(schema))],
  ['an answer that is JSON of any kind', { response_format: { type: 'json_object' } }, 0],
  ['no tools', { tools: [] }, 0],
  ['the call that a message answers', message({ tool_call_id: 'call_123456789' }), 0],
  ['no reasoning', message({ reasoning_content: null }), 0],
  ['no calls', message({ tool_calls: [] }), 0],
  ['reasoning', message({ reasoning_content: 'because of this' }), countTokens('because of this')],
  ['one call', message({ tool_calls: [{ id: 'a' }] }), countTokens('[{"id":"a"}]')],
])('%s counts by its own text', (_what, change, tokens) => {
  expect(counted(change) - counted({})).toBe(tokens)
})
