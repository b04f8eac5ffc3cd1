/** Brief §2.8, `disable_thinking`: thinking is switched off where the model's record has a switch, and taken out of what is answered. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
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
import { eventsOf } from './chat-fixture.ts'
import { configuredModels } from './config/configured-models.ts'
import { type OpenedService, openService, TestClock } from './open-service.ts'

type Answer = Parameters<typeof upstream>[0]

const clock = new TestClock()
let answer: Answer = asJson(completion)
let server: Upstream
let service: OpenedService
let key: string

/** A model for each way in which a record may say that it thinks. */
const records: [id: string, engine: string, capabilities: string, told: object][] = [
  ['plain', 'openai', '{}', {}],
  ['thinks', 'openai', '{ supportsReasoning: true }', {}],
  ['effort', 'openai', '{ supportsReasoning: true, supportsReasoningEffort: true }', { reasoning_effort: 'none' }],
  [
    'efforts',
    'openai',
    '{ supportsReasoning: true, supportsReasoningEffort: true, reasoningEffortOptions: [low, high] }',
    {},
  ],
  [
    'switch',
    'openai, withoutThinking: { chat_template_kwargs: { enable_thinking: false } }',
    '{ supportsReasoning: true }',
    { chat_template_kwargs: { enable_thinking: false } },
  ],
  ['switchless', 'openai, withoutThinking: { chat_template_kwargs: { enable_thinking: false } }', '{}', {}],
  [
    'relayed',
    'service',
    '{ supportsReasoning: true }',
    { service_parameters: { include_service_system_prompt: false, disable_thinking: true } },
  ],
  ['relayless', 'service', '{}', { service_parameters: { include_service_system_prompt: false } }],
]

beforeAll(async () => {
  server = await upstream((...sent) => answer(...sent))
  service = await openService({
    clock,
    models: () => {
      const models = records.map(
        ([id, engine, capabilities]) => `
  - id: ${id}
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    capabilities: ${capabilities}
    upstreams: [{ engine: ${engine}, baseUrl: '${server.baseUrl}' }]`,
      )
      return configuredModels(`publicUrl: http://127.0.0.1:8402\nmodels:${models.join('')}`, { clock })
    },
  })
  key = await service.key(10)
})
beforeEach(() => {
  clock.pass(60_000)
  answer = asJson(completion)
  server.seen.length = 0
})
afterAll(async () => {
  await service.close()
  await server.close()
})

const chat = (model: string, parameters: object, more: object = {}) => {
  const messages = [{ role: 'user', content: 'hi' }]
  return service.post(
    '/chat/completions',
    { model, messages, max_tokens: 8, service_parameters: parameters, ...more },
    key,
  )
}

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes are looked into.
const jsonOf = async (answered: Promise<Response>): Promise<any> => (await answered).json()

test.each(records)('of a model %s (%s, %s) the engine is told %j', async (model, _engine, _capabilities, told) => {
  const asked = { reasoning_effort: 'high', reasoning: { effort: 'high' } }
  expect((await chat(model, { disable_thinking: true }, asked)).status).toBe(200)
  const {
    model: _,
    messages: _m,
    max_tokens: _t,
    max_completion_tokens: _c,
    stream: _s,
    ...rest
  } = server.seen[0]?.body ?? {}
  expect(rest).toEqual(told)
})

test('a request without it keeps the effort, and the reasoning in the answer', async () => {
  answer = asJson(answered({ reasoning_content: 'hm' }))
  const body = await jsonOf(chat('switch', {}, { reasoning_effort: 'high' }))
  expect(server.seen[0]?.body).toMatchObject({ reasoning_effort: 'high' })
  expect(server.seen[0]?.body).not.toHaveProperty('chat_template_kwargs')
  expect(body.choices[0].message.reasoning_content).toBe('hm')
})

const answered = (message: object) => {
  const [choice] = completion.choices
  return {
    ...completion,
    choices: [{ ...choice, message: { ...choice?.message, ...message }, logprobs: { content: [{}] } }],
  }
}

const spellings: [name: string, thinking: object][] = [
  ['reasoning_content', { reasoning_content: 'secret' }],
  ['reasoning', { reasoning: 'secret' }],
  ['reasoning_details', { reasoning_details: [{ type: 'reasoning.text', text: 'secret' }] }],
  ['two names at once', { reasoning: 'secret', reasoning_content: 'secret' }],
  ['thinking', { thinking: 'secret' }],
  ['thinking_blocks', { thinking_blocks: [{ type: 'thinking', thinking: 'secret' }] }],
]

const rest = { role: 'assistant', content: 'hello' }
test.each<[name: string, message: object, left: object]>([
  ...spellings.map(([name, thinking]) => [name, thinking, rest] as [string, object, object]),
  ['a block of the old form', { content: '<think>secret</think>\n\nhello' }, rest],
  [
    'a part of the content',
    {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'secret' }] },
        { type: 'text', text: 'hello' },
      ],
    },
    { ...rest, content: [{ type: 'text', text: 'hello' }] },
  ],
])('an answer loses its thinking as %s, and is charged for it', async (_name, message, left) => {
  answer = asJson(answered(message))
  const body = await jsonOf(chat('thinks', { disable_thinking: true }))
  expect([body.choices[0].message, body.choices[0].logprobs, body.usage]).toEqual([left, null, usage])
})

test.each<[name: string, deltas: object[]]>([
  ...spellings.map(([name, thinking]) => [name, [thinking, thinking]] as [string, object[]]),
  ['a block of the old form, cut anywhere', [{ content: '<thi' }, { content: 'nk>sec' }, { content: 'ret</think>' }]],
])('and so does a stream: %s', async (_name, deltas) => {
  const pieces = deltas.map(delta =>
    chunk('', { choices: [{ index: 0, delta, finish_reason: null, logprobs: { content: [{}] } }] }),
  )
  const ends = [chunk('hello'), finish, { ...finish, choices: [], usage }]
  answer = asEvents([...pieces, ...ends].map(event))
  const options = { stream: true, stream_options: { include_usage: true } }
  const text = await (await chat('thinks', { disable_thinking: true }, options)).text()
  const choices = eventsOf(text)
    .filter(each => each !== '[DONE]')
    .flatMap(each => JSON.parse(each).choices)
  expect(choices.map(({ delta }) => delta.content ?? '').join('')).toBe('hello')
  for (const { delta } of choices) expect(Object.keys(delta).filter(name => /reason|think/.test(name))).toEqual([])
  expect(choices.slice(0, -2).some(({ logprobs }) => logprobs)).toBe(false)
  expect(text).toContain(`"completion_tokens":${usage.completion_tokens}`)
})

test('Responses have no item of reasoning then', async () => {
  answer = asJson(answered({ reasoning: 'secret' }))
  const body = { model: 'thinks', input: 'hi', service_parameters: { disable_thinking: true } }
  const { output } = await jsonOf(service.post('/responses', body, key))
  expect(output.map(({ type }: { type: string }) => type)).toEqual(['message'])
})
