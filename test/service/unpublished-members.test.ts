/** Brief §1.4: unknown members are accepted; the operator decides which of them an engine gets. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  asEvents,
  asJson,
  chunk,
  completion,
  event,
  finish,
  type Upstream,
  upstream,
  usage,
} from '../engines/openai/upstream.ts'
import { configuredModels } from './config/configured-models.ts'
import { type OpenedService, openService, TestClock } from './open-service.ts'

const clock = new TestClock()
const servers: Upstream[] = []
let service: OpenedService
let key: string
let isAway = false

const streamed = asEvents([event(chunk('hello')), event(finish), event({ ...finish, choices: [], usage })])
const failing = asJson({ error: {} }, 503)

beforeAll(async () => {
  for (const place of [0, 1]) {
    servers.push(
      await upstream((response, request) => {
        if (place === 0 && isAway) return failing(response)
        const wantsEvents = request.headers.accept === 'text/event-stream'
        return (wantsEvents ? streamed : asJson(completion))(response)
      }),
    )
  }
  const [first, second] = servers.map(({ baseUrl }) => baseUrl)
  service = await openService({
    clock,
    models: () => {
      const model = (id: string, upstreams: string) => `
  - id: ${id}
    type: text
    contextTokens: 100000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    capabilities: { supportsVision: true }
    upstreams: [${upstreams}]`
      const passes = '[guided_regex, chat_template_kwargs.enable_thinking, messages.tool_calls.extra_content]'
      return configuredModels(
        `publicUrl: http://127.0.0.1:8402
models:
${model('plain', `{ engine: openai, baseUrl: '${first}' }`)}
${model('relayed', `{ engine: service, baseUrl: '${first}' }`)}
${model('open', `{ engine: openai, baseUrl: '${first}', passMembers: ${passes} }`)}
${model('mixed', `{ engine: openai, baseUrl: '${first}', weight: 1000, passMembers: ${passes} }, { engine: openai, baseUrl: '${second}' }`)}`,
        { clock },
      )
    },
  })
  key = await service.key(10)
})
beforeEach(() => {
  isAway = false
  clock.pass(60_000)
  for (const { seen } of servers) seen.length = 0
})
afterAll(async () => {
  await service.close()
  for (const server of servers) await server.close()
})

const hi = [{ role: 'user', content: 'hi' }]
const chat = (body: object) => service.post('/chat/completions', { messages: hi, max_tokens: 8, ...body }, key)
const forwarded = (place = 0) => servers[place]?.seen.at(-1)?.body ?? {}

/** What a caller may write, none of it published. */
const strange: [what: string, members: object][] = [
  ['a template that loops', { chat_template: '{% for i in range(100000) %}a{% endfor %}' }],
  ['members of a template', { chat_template_kwargs: { chat_template: 'x', enable_thinking: false } }],
  ['code that changes what is drawn', { logits_processors: ['os.system'] }],
  ['tensors', { prompt_embeds: 'AAAA' }],
  ['weights', { lora: [{ id: 0, scale: 1 }] }],
  ['the place of another caller', { id_slot: 3 }],
  ['an answer without end', { ignore_eos: true, min_tokens: 100_000, n_predict: 100_000 }],
  ['members that clients merge', { extra_body: { ignore_eos: true }, extra_query: { a: 1 } }],
  [
    'a grammar',
    { guided_regex: '(a*)*', guided_json: {}, structured_outputs: { regex: '(a*)*' }, logit_bias: { 1: 5 } },
  ],
  ['who is called', { api_base: 'http://evil', base_url: 'http://evil', api_key: 'x', headers: { a: 'b' } }],
  [
    'a call without a price',
    { models: ['dear'], plugins: [{ id: 'web' }], search_parameters: {}, web_search_options: {} },
  ],
  ['a name that every object has', { constructor: 'x', toString: 'y' }],
  [
    'what this service keeps to itself',
    { user: 'ann', store: true, metadata: { a: 'b' }, fallbacks: [{ model: 'dear' }] },
  ],
]

const published = { model: 'plain', messages: hi, max_tokens: 8, stream: false }

describe('§1.4: an unpublished member is accepted but reaches no engine', () => {
  test.each(strange)('G19: %s', async (_what, members) => {
    expect((await chat({ model: 'plain', ...members })).status).toBe(200)
    expect(forwarded()).toEqual(published)
    expect((await chat({ model: 'relayed', ...members })).status).toBe(200)
    const { max_completion_tokens, service_parameters, ...rest } = forwarded()
    expect([rest, max_completion_tokens]).toEqual([{ model: 'relayed', messages: hi, stream: false }, 8])
    expect(service_parameters).toEqual({ include_service_system_prompt: false })
  })

  test('in a stream neither', async () => {
    const response = await chat({ model: 'plain', stream: true, ignore_eos: true, stream_options: { x: 1 } })
    expect(await response.text()).toContain('hello')
    expect(forwarded()).toEqual({ ...published, stream: true, stream_options: { include_usage: true } })
  })

  const image =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg+M9QDwADgQGAo1s0VgAAAABJRU5ErkJggg=='
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  const f = { name: 'f', parameters: { type: 'object', properties: { chat_template: { type: 'string' } } } }
  const nested: [what: string, sent: object, passed: object][] = [
    [
      'of a response format',
      { response_format: { type: 'json_object', schema: { a: 1 }, structures: [] } },
      { response_format: { type: 'json_object' } },
    ],
    [
      'of a tool, and of its function',
      { tools: [{ type: 'function', function: { ...f, code: 'x' }, server_url: 'http://evil' }] },
      { tools: [{ type: 'function', function: f }] },
    ],
    [
      'of the choice of a tool',
      {
        tools: [{ type: 'function', function: f }],
        tool_choice: { type: 'function', function: { name: 'f', x: 1 }, y: 2 },
      },
      { tools: [{ type: 'function', function: f }], tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
    ['of reasoning', { reasoning: { effort: 'low', max_tokens: 100_000 } }, { reasoning: { effort: 'low' } }],
    ['of text', { text: { verbosity: 'low', format: {} } }, { text: { verbosity: 'low' } }],
    [
      'of a message of each role',
      {
        messages: [
          { role: 'system', content: 's', tools: [{}] },
          { role: 'user', content: 'hi', prefix: true, documents: [] },
          { role: 'assistant', content: null, tool_calls: [{ ...call, extra_content: 'x' }], audio: { id: 'a' } },
          { role: 'tool', content: 'x', tool_call_id: 'c', url: 'http://evil' },
        ],
      },
      {
        messages: [
          { role: 'system', content: 's' },
          { role: 'user', content: 'hi' },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', content: 'x', tool_call_id: 'c' },
        ],
      },
    ],
    [
      'of a part, also one that is another part’s',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'look', image_url: { url: 'http://169.254.169.254/' } },
              {
                type: 'image_url',
                image_url: { url: image, detail: 'low', uuid: 'x' },
                video_url: { url: 'http://evil' },
              },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'look' },
              { type: 'image_url', image_url: { url: image, detail: 'low' } },
            ],
          },
        ],
      },
    ],
  ]
  test.each(nested)('G19: nor one within a published one: %s', async (_what, sent, passed) => {
    expect((await chat({ model: 'plain', ...sent })).status).toBe(200)
    expect(forwarded()).toMatchObject(passed)
    for (const [name, value] of Object.entries(passed)) expect(forwarded()[name]).toEqual(value)
  })

  test('nor one of a request for Responses', async () => {
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'hi', image_url: 'http://evil' }], prefix: true },
    ]
    const body = { model: 'plain', input, max_output_tokens: 8, chat_template: 'x', ignore_eos: true }
    expect((await service.post('/responses', body, key)).status).toBe(200)
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
    expect(forwarded()).toEqual({ ...published, messages })
  })

  test('and nothing is held for it', async () => {
    const poor = await service.key(0.01)
    const note = 'a'.repeat(60_000)
    const body = { model: 'plain', messages: [{ ...hi[0], note }], max_tokens: 8, chat_template: note }
    expect((await service.post('/chat/completions', body, poor)).status).toBe(200)
  })
})

describe('what an operator names passes, and nothing beside it', () => {
  const sent = {
    guided_regex: 'a+',
    guided_json: {},
    chat_template_kwargs: { enable_thinking: false, chat_template: 'x' },
    messages: [
      { role: 'assistant', content: 'a', tool_calls: [{ id: 'c', extra_content: { a: 1 }, other: 1 }] },
      ...hi,
    ],
  }
  const passed = {
    guided_regex: 'a+',
    chat_template_kwargs: { enable_thinking: false },
    messages: [{ role: 'assistant', content: 'a', tool_calls: [{ id: 'c', extra_content: { a: 1 } }] }, ...hi],
  }

  test('a member, one within another, and one of each item of a list', async () => {
    expect((await chat({ model: 'open', ...sent })).status).toBe(200)
    expect(forwarded()).toEqual({ ...passed, model: 'open', max_tokens: 8, stream: false })
  })

  test('of two upstreams, only to the one that it was named for', async () => {
    expect((await chat({ model: 'mixed', ...sent })).status).toBe(200)
    expect(forwarded()).toMatchObject(passed)
    isAway = true
    expect((await chat({ model: 'mixed', ...sent })).status).toBe(200)
    const messages = [{ role: 'assistant', content: 'a', tool_calls: [{ id: 'c' }] }, ...hi]
    expect(forwarded(1)).toEqual({ model: 'mixed', messages, max_tokens: 8, stream: false })
  })

  const configured = (type: string, engine: string) => () => {
    configuredModels(
      `publicUrl: http://127.0.0.1:8402
models:
  - id: one
    type: ${type}
    ${type === 'text' ? 'contextTokens: 1000' : '{ dimensions: 3, maximumInputTokens: 10 }'.slice(2, -2).replace(', ', '\n    ')}
    price: { inputPerMillionUsd: 1${type === 'text' ? ', outputPerMillionUsd: 1' : ''} }
    upstreams: [{ ${engine} }]`,
      { clock },
    )
  }
  const at = "engine: openai, baseUrl: 'http://127.0.0.1:1/v1'"
  test.each([
    ['a member that farebox writes', 'text', `${at}, passMembers: [max_tokens]`, /writes itself/],
    ['one within such a member', 'text', `${at}, passMembers: [stream_options.include_usage]`, /writes itself/],
    ['no name', 'text', `${at}, passMembers: ['a b']`, /by its name/],
    ['another type of model', 'embedding', `${at}, passMembers: [seed]`, /not apply to a model of type embedding/],
    ['an engine that is told nothing else', 'text', 'engine: demo, passMembers: [seed]', /Unknown setting/],
  ])('the configuration refuses it for %s', (_what, type, engine, sentence) => {
    expect(configured(type, engine)).toThrow(
      expect.objectContaining({ faults: [expect.objectContaining({ sentence: expect.stringMatching(sentence) })] }),
    )
  })
})
