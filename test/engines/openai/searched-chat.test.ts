/** A chat with the model's own search, by xAI's Responses: what is asked, and what an answer becomes. */
import { expect, test } from 'vitest'
import { call, engineFor, read } from './asked-engine.ts'
import { asEvents, asJson, completion, event } from './upstream.ts'

const searching = { searchesX: true, maxCompletionTokens: 40 }
const usage = {
  input_tokens: 10,
  output_tokens: 2,
  input_tokens_details: { cached_tokens: 3 },
  num_sources_used: 0,
  server_side_tool_usage_details: { web_search_calls: 1, x_search_calls: 2 },
}
const counted = {
  prompt_tokens: 10,
  completion_tokens: 2,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 3 },
  server_side_tool_usage_details: usage.server_side_tool_usage_details,
}
const text = (words: string, ...urls: string[]) => ({
  type: 'message',
  content: [{ type: 'output_text', text: words, annotations: urls.map(url => ({ type: 'url_citation', url })) }],
})
const asked = { type: 'function_call', call_id: 'c1', name: 'pay', arguments: '{"usd":1}' }
const response = (...output: object[]) => ({
  id: 'r1',
  created_at: 7,
  model: 'grok',
  status: 'completed',
  output,
  usage,
})

const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
    ],
  },
  { role: 'assistant', tool_calls: [{ id: 'c0', type: 'function', function: { name: 'pay', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 'c0', content: 'paid' },
]

test('a conversation, its functions, format and effort are asked in the words of Responses', async () => {
  const [engine, server] = await engineFor(asJson(response(text('hello'))), { xSearch: 'responses' })
  const change = {
    messages,
    tools: [{ type: 'function', function: { name: 'pay', parameters: {} } }],
    tool_choice: { type: 'function', function: { name: 'pay' } },
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: {} } },
    reasoning_effort: 'low',
    temperature: 0.5,
    frequency_penalty: 0,
    max_tokens: 99,
  }
  await engine.complete(call(change, searching))
  expect(server.seen[0]?.url).toBe('/v1/responses')
  expect(server.seen[0]?.body).toEqual({
    model: 'engine-model',
    input: [
      { role: 'system', content: 'Be brief.\n\nBe kind.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
        ],
      },
      { type: 'function_call', call_id: 'c0', name: 'pay', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c0', output: 'paid' },
    ],
    tools: [{ type: 'web_search' }, { type: 'x_search' }, { type: 'function', name: 'pay', parameters: {} }],
    tool_choice: { type: 'function', name: 'pay' },
    text: { format: { type: 'json_schema', name: 'answer', schema: {} } },
    reasoning: { effort: 'low' },
    temperature: 0.5,
    max_output_tokens: 40,
    store: false,
    stream: false,
  })
})

test('without the search the same upstream is asked for a chat', async () => {
  const [engine, server] = await engineFor(asJson(completion), { xSearch: 'responses' })
  await engine.complete(call())
  expect(server.seen[0]?.url).toBe('/v1/chat/completions')
})

test.each<[member: string, value: unknown]>([
  ['n', 2],
  ['stop', 'end'],
  ['seed', 5],
  ['logprobs', true],
  ['frequency_penalty', 1],
  ['messages', [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA==' } }] }]],
])('%s, for which Responses have no place, is refused by its name and never dropped', async (member, value) => {
  const [engine, server] = await engineFor(asJson(response(text('hello'))), { xSearch: 'responses' })
  await expect(engine.complete(call({ [member]: value }, searching))).rejects.toMatchObject({
    status: 400,
    body: { details: { [member]: {} } },
  })
  expect(server.seen).toEqual([])
})

test.each<[rule: string, value: object, answer: object]>([
  [
    'sources are told once, whether listed or beside the text',
    { ...response(text('hello', 'https://a', 'https://b')), citations: ['https://a'] },
    { citations: ['https://a', 'https://b'], usage: counted },
  ],
  [
    'the calls of functions are the caller’s, and those of its own tools are not',
    response({ type: 'custom_tool_call', call_id: 'x', name: 'x_keyword_search' }, asked),
    {
      choices: [
        {
          finish_reason: 'tool_calls',
          message: { tool_calls: [{ id: 'c1', function: { name: 'pay', arguments: '{"usd":1}' } }] },
        },
      ],
    },
  ],
  [
    'a summary of its thoughts',
    response({ type: 'reasoning', summary: [{ text: 'hm' }] }, text('hello')),
    { choices: [{ message: { content: 'hello', reasoning_content: 'hm' } }] },
  ],
  [
    'an answer that ended at its limit',
    { ...response(text('hel')), status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    { choices: [{ finish_reason: 'length' }] },
  ],
  [
    'an answer that was cut by a filter',
    { ...response(text('hel')), status: 'incomplete', incomplete_details: { reason: 'content_filter' } },
    { choices: [{ finish_reason: 'content_filter' }] },
  ],
])('%s', async (_rule, value, answer) => {
  const [engine] = await engineFor(asJson(value), { xSearch: 'responses' })
  expect(await engine.complete(call({}, searching))).toMatchObject(answer)
})

test.each([
  ['that failed', { ...response(), status: 'failed', error: { code: 'server_error', message: 'secret' } }],
  ['that is invalid', { id: 'r1' }],
])('a response %s is no answer', async (_what, value) => {
  const [engine] = await engineFor(asJson(value), { xSearch: 'responses' })
  await expect(engine.complete(call({}, searching))).rejects.toMatchObject({ status: 500 })
})

const created = event({ type: 'response.created', response: { id: 'r1', created_at: 7, model: 'grok' } })

test('a stream comes piece by piece, with sources and usage at its end', async () => {
  const pieces = [
    created,
    event({ type: 'response.reasoning_summary_text.delta', delta: 'hm' }),
    event({ type: 'response.output_item.done', item: { type: 'custom_tool_call', name: 'x_keyword_search' } }),
    event({ type: 'response.output_text.delta', delta: 'hel' }),
    event({ type: 'response.output_text.delta', delta: 'lo' }),
    event({ type: 'response.output_item.done', item: asked }),
    event({ type: 'response.completed', response: response(text('hello', 'https://a'), asked) }),
  ]
  const [engine, server] = await engineFor(asEvents(pieces), { xSearch: 'responses' })
  const { chunks, text: words, error } = await read(engine, call({ stream: true }, searching))
  expect([error, words, server.seen[0]?.body.stream]).toEqual([null, 'hello', true])
  expect(chunks.map(({ id, choices }) => [id, choices[0]?.delta ?? null, choices[0]?.finish_reason])).toEqual([
    ['r1', { role: 'assistant' }, null],
    ['r1', { reasoning_content: 'hm' }, null],
    ['r1', { content: 'hel' }, null],
    ['r1', { content: 'lo' }, null],
    [
      'r1',
      { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'pay', arguments: '{"usd":1}' } }] },
      null,
    ],
    ['r1', {}, 'tool_calls'],
    ['r1', null, undefined],
  ])
  expect(chunks.at(-1)).toMatchObject({ citations: ['https://a'], usage: counted })
})

test.each([
  ['a failure', event({ type: 'response.failed', response: { error: { code: 'server_error' } } })],
  ['an error', event({ type: 'error', code: 'server_error', message: 'secret' })],
  ['nothing more', ''],
])('a stream that ends with %s has failed', async (_what, last) => {
  const [engine] = await engineFor(asEvents([created, last]), { xSearch: 'responses' })
  const { chunks, error } = await read(engine, call({ stream: true }, searching))
  expect([chunks.length, error]).toMatchObject([1, { status: 500 }])
})
