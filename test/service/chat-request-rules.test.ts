import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { contentViolation } from '#contract/errors/errors.ts'
import { pricePerMillion } from '#contract/money.ts'
import { type ChatFixture, openFixture } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'

let fixture: ChatFixture
beforeAll(async () => {
  fixture = await openFixture({
    model: {
      price: {
        inputPicoUsd: pricePerMillion('1') ?? 0n,
        outputPicoUsd: pricePerMillion('10') ?? 0n,
        cachedInputPicoUsd: pricePerMillion('0.1') ?? 0n,
        cacheWritePicoUsd: pricePerMillion('1.25') ?? 0n,
      },
    },
  })
})
beforeEach(() => fixture.engine.play([...words('An answer'), { usage: used(100, 10) }]))
afterAll(() => fixture.service.close())

const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg+M9QDwADgQGAo1s0VgAAAABJRU5ErkJggg=='
const f = { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } }
const calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }]
const after = (...messages: object[]) => ({ messages: [{ role: 'user', content: 'hi' }, ...messages] })
const parts = (...content: object[]) => ({ messages: [{ role: 'user', content }] })

/** Published contract §5.1: what is taken reaches the engine as it was sent; what is only tolerated reaches none. */
const taken: [field: string, values: object[]][] = [
  ['frequency_penalty', [{ frequency_penalty: -2 }, { frequency_penalty: 2 }]],
  ['presence_penalty', [{ presence_penalty: -2 }, { presence_penalty: 2 }]],
  ['repetition_penalty', [{ repetition_penalty: 0 }, { repetition_penalty: 3 }]],
  ['temperature', [{ temperature: 0 }, { temperature: 2 }]],
  ['dynamic temperature', [{ min_temp: 0, max_temp: 2 }]],
  ['top_p, min_p, top_k', [{ top_p: 0, min_p: 1, top_k: 0 }]],
  ['seed', [{ seed: 1 }]],
  ['logprobs', [{ logprobs: true, top_logprobs: 0 }]],
  ['the length, by either name', [{ max_tokens: 5 }, { max_completion_tokens: 5 }]],
  ['stop', [{ stop: 'a' }, { stop: ['a', 'b', 'c', 'd'] }, { stop: null }]],
  ['stop_token_ids', [{ stop_token_ids: [1, 2] }]],
  [
    'reasoning',
    ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map(effort => ({
      reasoning_effort: effort,
      reasoning: { effort },
    })),
  ],
  ['the summary of it', ['auto', 'concise', 'detailed'].map(summary => ({ reasoning: { summary } }))],
  ['verbosity', ['low', 'medium', 'high', 'auto'].map(verbosity => ({ verbosity, text: { verbosity } }))],
  ['prompt_cache_retention', ['default', 'extended', '24h'].map(each => ({ prompt_cache_retention: each }))],
  ['tools', [{ tools: [f] }, { tools: [{ function: { name: 'f' }, id: 'x' }] }]],
  [
    'tool_choice',
    [
      { tools: [f], tool_choice: 'auto' },
      { tools: [f], tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
  ],
  ['parallel_tool_calls', [{ tools: [f], parallel_tool_calls: false }]],
  [
    'response_format',
    [
      { response_format: { type: 'text' } },
      { response_format: { type: 'json_object' } },
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } } },
    ],
  ],
  ['include', [{ include: ['a'] }]],
  [
    'roles',
    [
      after(
        { role: 'assistant', content: 'a', name: 'n', reasoning_content: 'r' },
        { role: 'system', content: [{ type: 'text', text: 's' }] },
        { role: 'developer', content: 'd' },
      ),
    ],
  ],
  [
    'calls and what they gave',
    [
      after(
        { role: 'assistant', content: null, tool_calls: calls },
        { role: 'tool', content: 'x', tool_call_id: 'c1' },
      ),
    ],
  ],
  [
    'reasoning details',
    [after({ role: 'assistant', content: 'a', reasoning_details: [{ type: 't', data: 'd', index: 0 }] })],
  ],
  [
    'parts',
    [
      parts(
        { type: 'text', text: 't', cache_control: { type: 'ephemeral' } },
        { type: 'image_url', image_url: { url: image } },
      ),
    ],
  ],
]
const takenRows = taken.flatMap(([field, values]) => values.map(value => [field, value] as const))

test.each(takenRows)('§5.1 takes %s: %o', async (_field, body) => {
  const response = await fixture.chat(await fixture.customer(1), { ...body })
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
  expect(fixture.engine.calls.at(-1)?.request).toMatchObject(body)
})

test.each([
  ['ten fallbacks', { fallbacks: Array(10).fill({ model: 'm' }) }],
  ['an unknown member', { speed: { warp: 9 } }],
])('§1.4 tolerates %s, and tells no engine of it', async (_field, body) => {
  expect((await fixture.chat(await fixture.customer(1), body)).status).toBe(200)
  for (const name of Object.keys(body)) expect(fixture.engine.calls.at(-1)?.request).not.toHaveProperty(name)
})

const refused: [body: object, names: string][] = [
  [{ messages: [{ role: 'assistant' }] }, 'content'],
  [{ messages: [{ role: 'assistant', content: null, tool_calls: null }] }, 'content'],
  [{ frequency_penalty: 2.1 }, 'frequency_penalty'],
  [{ presence_penalty: -2.1 }, 'presence_penalty'],
  [{ repetition_penalty: -0.1 }, 'repetition_penalty'],
  [{ temperature: -0.1 }, 'temperature'],
  [{ max_temp: 2.1 }, 'max_temp'],
  [{ min_temp: -1 }, 'min_temp'],
  [{ top_p: 1.1 }, 'top_p'],
  [{ min_p: -0.1 }, 'min_p'],
  [{ top_k: -1 }, 'top_k'],
  [{ top_k: 1.5 }, 'top_k'],
  [{ seed: 0 }, 'seed'],
  [{ top_logprobs: -1 }, 'top_logprobs'],
  [{ logprobs: 'yes' }, 'logprobs'],
  [{ n: 0 }, 'n'],
  [{ stop: [] }, 'stop'],
  [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
  [{ reasoning_effort: 'huge' }, 'reasoning_effort'],
  [{ reasoning: { effort: 'huge' } }, 'effort'],
  [{ reasoning: { summary: 'long' } }, 'summary'],
  [{ verbosity: 'loud' }, 'verbosity'],
  [{ text: { verbosity: 'loud' } }, 'verbosity'],
  [{ prompt_cache_retention: '1h' }, 'prompt_cache_retention'],
  [{ prompt_cache_key: 7 }, 'prompt_cache_key'],
  [{ fallbacks: Array(11).fill({ model: 'm' }) }, 'fallbacks'],
  [{ fallbacks: [{}] }, 'fallbacks'],
  [{ response_format: { type: 'xml' } }, 'response_format'],
  [{ response_format: { type: 'json_schema' } }, 'json_schema'],
  [{ tools: [{ type: 'function', function: {} }] }, 'tools'],
  [{ messages: [] }, 'messages'],
  [after({ role: 'robot', content: 'x' }), 'role'],
  [after({ role: 'tool', content: 'x' }), 'tool_call_id'],
  [after({ role: 'assistant', content: [{ type: 'image_url', image_url: { url: image } }] }), 'content'],
  [parts({ type: 'text', text: '' }), 'text'],
  [parts({ type: 'text', text: 'a', cache_control: { type: 'forever' } }), 'cache_control'],
  [parts({ type: 'image_url', image_url: {} }), 'url'],
  [parts({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mid' } }), 'format'],
  [parts({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }), 'does not accept input_audio'],
  [parts({ type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } }), 'does not accept video_url'],
  [parts({ type: 'file', file: { file_data: 'data:text/plain;base64,AAAA' } }), 'does not accept file'],
]

test.each(refused)('§5.1 refuses %o by name, without a charge', async (body, names) => {
  const customer = await fixture.customer(1)
  const response = await fixture.chat(customer, body)
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(names)])
  expect([fixture.engine.calls.length, (await fixture.ledger(customer.account)).charged]).toEqual([0, 0n])
})

test.each([false, true])(
  '§9 content that the model refuses is a violation, in a header too; stream: %s',
  async stream => {
    fixture.engine.play([{ fail: contentViolation({ error: 'no' }) }])
    const response = await fixture.chat(await fixture.customer(1), { stream })
    expect([response.status, response.headers.get('x-service-is-content-violation')]).toEqual([422, 'true'])
  },
)

test.each([false, true])('what is read from a cache or written into it has its own price; stream: %s', async stream => {
  const usage = { ...used(100, 10), prompt_tokens_details: { cached_tokens: 60, cache_creation_input_tokens: 20 } }
  fixture.engine.play([...words('An answer'), { usage }])
  const customer = await fixture.customer(1)
  await (await fixture.chat(customer, { stream, prompt_cache_key: 'k' })).text()
  expect(await fixture.ledger(customer.account)).toMatchObject({
    skus: ['chat.input', 'chat.input.cached', 'chat.input.cache_write', 'chat.output'],
    units: [20n, 60n, 20n, 10n],
    // 20 at 1, 60 at 0.1, 20 at 1.25, 10 at 10 micro-USD.
    charged: 20n + 6n + 25n + 100n,
  })
})
