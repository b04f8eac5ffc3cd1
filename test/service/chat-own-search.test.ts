/** Brief §2.8, `enable_x_search`: a model's own search, in the place of the service's, at a price of its own. */

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ChatCompletion } from '#contract/operations/chat.ts'
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
import { closeSound } from './close-sound.ts'
import { configuredModels } from './config/configured-models.ts'
import { type OpenedService, openService, TestClock } from './open-service.ts'
import { ScriptedWeb } from './scripted-web.ts'

type Answer = Parameters<typeof upstream>[0]

const clock = new TestClock()
const web = new ScriptedWeb()
let answer: Answer = asJson(completion)
let server: Upstream
let service: OpenedService
let key: string

const fileOf = (models: string) => `publicUrl: http://127.0.0.1:8402\nmodels:${models}`
const modelOf = (
  id: string,
  upstreams: string,
  capabilities = '{ supportsXSearch: true, supportsWebSearch: true }',
) => `
  - id: ${id}
    type: text
    contextTokens: 100000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 10 }
    capabilities: ${capabilities}
    upstreams: [${upstreams}]`
const opened = (text: string) => configuredModels(text, { clock })

beforeAll(async () => {
  server = await upstream((...sent) => answer(...sent))
  const at = `baseUrl: '${server.baseUrl}'`
  service = await openService({
    clock,
    search: web,
    models: () =>
      opened(
        fileOf(
          modelOf('xai', `{ engine: openai, ${at}, xSearch: responses }`) +
            modelOf('gateway', `{ engine: openai, ${at}, xSearch: { members: { plugins: [{ id: web }] } } }`) +
            modelOf('relayed', `{ engine: service, ${at} }`) +
            modelOf('relayed-other', `{ engine: service, vendor: other, ${at} }`) +
            modelOf('none', `{ engine: openai, ${at} }`, '{ supportsWebSearch: true }'),
        ),
      ),
  })
  key = await service.key(10)
})
beforeEach(() => {
  clock.pass(60_000)
  answer = asJson(completion)
  server.seen.length = 0
  web.searched = []
})
const holds = async () => (await service.store.read.selectFrom('hold').select('id').execute()).length
afterEach(async () => {
  await expect.poll(holds).toBe(0)
})
afterAll(async () => {
  await closeSound(service)
  await server.close()
})

const hi = [{ role: 'user', content: 'hi' }]
const chat = (body: object, by = key) =>
  service.post(
    '/chat/completions',
    { messages: hi, max_tokens: 50, service_parameters: { enable_x_search: true }, ...body },
    by,
  )
const linesOf = async (run: () => Promise<unknown>) => {
  const read = () =>
    service.store.read
      .selectFrom('entry')
      .select(['id', 'sku', 'units', 'amount'])
      .where('kind', '=', 'CHARGE')
      .execute()
  const before = new Set((await read()).map(({ id }) => id))
  await run()
  return (await read())
    .filter(({ id, sku }) => !before.has(id) && sku === 'x.search')
    .map(({ units, amount }) => [units, amount])
}

const sources = ['https://x.com/a/1', 'https://example.com/b']
const response = {
  id: 'resp_1',
  created_at: 1_700_000_000,
  model: 'grok',
  status: 'completed',
  output: [
    { type: 'custom_tool_call', name: 'x_keyword_search' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello', annotations: [] }] },
  ],
  citations: sources,
  usage: {
    input_tokens: 10,
    output_tokens: 2,
    total_tokens: 12,
    server_side_tool_usage_details: { web_search_calls: 1, x_search_calls: 2 },
  },
}

const begun = event({ type: 'response.created', response: { id: 'resp_1', created_at: 1_700_000_000, model: 'grok' } })
const said = event({ type: 'response.output_text.delta', delta: 'hello' })
const completed = event({ type: 'response.completed', response })
const cited = sources.map(url => ({ title: url, url, content: '' }))

test.each([false, true])('by xAI’s Responses, with its two searches; stream: %s', async stream => {
  answer = stream ? asEvents([begun, said, completed]) : asJson(response)
  let text = ''
  const lines = await linesOf(async () => {
    text = await (await chat({ model: 'xai', stream, stream_options: { include_usage: true } })).text()
  })
  expect(server.seen[0]).toMatchObject({
    url: '/v1/responses',
    body: { model: 'xai', input: hi, max_output_tokens: 50, tools: [{ type: 'web_search' }, { type: 'x_search' }] },
  })
  // Two sources and three searches: what is more of both.
  expect(lines).toEqual([[3n, 30_000n]])
  const last = JSON.parse(stream ? (eventsOf(text).at(-2) ?? '') : text)
  expect([text.includes('hello'), last.usage.completion_tokens, last.cost.usd > 0.03]).toEqual([true, 2, true])
  expect(last.service_parameters.web_search_citations).toEqual(cited)
})

test('what it found is shown in a stream where asked, once it is known', async () => {
  answer = asEvents([begun, said, completed])
  const parameters = { enable_x_search: true, include_search_results_in_stream: true }
  const events = eventsOf(await (await chat({ model: 'xai', stream: true, service_parameters: parameters })).text())
  expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ service_parameters: { web_search_citations: cited } })
})

test('what it found is a call of the documents tool where asked, and refused for a stream', async () => {
  answer = asJson(response)
  const parameters = { enable_x_search: true, return_search_results_as_documents: true }
  const told = (await (await chat({ model: 'xai', service_parameters: parameters })).json()) as ChatCompletion
  const [documents] = told.choices[0]?.message.tool_calls ?? []
  expect(JSON.parse(documents?.function?.arguments ?? '').documents.map(({ url }: { url: string }) => url)).toEqual(
    sources,
  )
  const refused = await chat({ model: 'xai', stream: true, service_parameters: parameters })
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining('return_search_results_as_documents'),
  ])
})

test.each([false, true])('a request in the shape of Responses may have it as a tool; stream: %s', async stream => {
  answer = stream ? asEvents([begun, said, completed]) : asJson(response)
  const asked = { model: 'xai', input: 'hi', stream, tools: [{ type: 'x_search' }, { type: 'web_search' }] }
  let text = ''
  const lines = await linesOf(async () => {
    text = await (await service.post('/responses', asked, key)).text()
  })
  expect([lines, web.searched]).toEqual([[[3n, 30_000n]], []])
  const whole = stream ? JSON.parse(text.split('data: ').at(-2) ?? '').response : JSON.parse(text)
  const types = whole.output.map(({ type }: { type: string }) => type)
  expect(types.sort()).toEqual(['message', 'web_search_call'])
})

test('a stream that broke off before its engine said what it found pays for one result', async () => {
  answer = asEvents([begun, said])
  expect(await linesOf(async () => (await chat({ model: 'xai', stream: true })).text())).toEqual([[1n, 10_000n]])
})

test('a caller who leaves a stream pays for what its engine says at the end', async () => {
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  answer = async response => {
    await asEvents([begun, said], { end: false })(response)
    await left
    response.end(completed)
  }
  const lines = await linesOf(async () => {
    const reader = (await chat({ model: 'xai', stream: true })).body?.getReader()
    await reader?.read()
    const over = reader?.cancel()
    leave()
    await over
    await expect.poll(holds).toBe(0)
  })
  expect(lines).toEqual([[3n, 30_000n]])
})

test('an engine that fails before a word is not paid for its search', async () => {
  answer = asJson({ error: { message: 'no' } }, 500)
  expect(await linesOf(async () => (await chat({ model: 'xai' })).text())).toEqual([])
})

const annotation = (url: string) => ({ type: 'url_citation', url_citation: { url, title: 'T' } })
const annotated = (...urls: string[]) => ({
  ...completion,
  choices: [
    { ...completion.choices[0], message: { role: 'assistant', content: 'hello', annotations: urls.map(annotation) } },
  ],
})

test.each<[says: string, answered: object, results: number]>([
  ['nothing of what it found', completion, 1],
  ['what it found beside its text', annotated('https://a.example/', 'https://b.example/'), 2],
  ['that it used sources', { ...completion, usage: { ...usage, num_sources_used: 4 } }, 4],
  [
    'how many posts it read',
    { ...completion, usage: { ...usage, server_side_tool_usage_details: { x_posts_fetched: 5, x_users_fetched: 1 } } },
    6,
  ],
  ['that it used more than are paid for', { ...completion, usage: { ...usage, num_sources_used: 4_000 } }, 20],
  ['that it found nothing', annotated(), 0],
  ['invalid figures', { ...completion, usage: { ...usage, num_sources_used: -3 } }, 1],
])('by what a gateway takes in a chat; it says %s', async (_says, answered, results) => {
  answer = asJson(answered)
  const lines = await linesOf(() => chat({ model: 'gateway' }))
  expect(server.seen[0]).toMatchObject({ url: '/v1/chat/completions', body: { plugins: [{ id: 'web' }] } })
  expect(lines).toEqual(results ? [[BigInt(results), BigInt(results) * 10_000n]] : [])
})

test.each(['service', 'other'])(
  'by another service of this contract, whose word is %s, and which is asked for the same',
  async vendor => {
    answer = asJson({ ...completion, [`${vendor}_parameters`]: { web_search_citations: cited } })
    let told: unknown
    const lines = await linesOf(async () => {
      told = await (await chat({ model: vendor === 'service' ? 'relayed' : 'relayed-other' })).json()
    })
    expect(server.seen[0]?.body).toMatchObject({
      [`${vendor}_parameters`]: { [`include_${vendor}_system_prompt`]: false, enable_x_search: true },
    })
    expect([lines, told]).toMatchObject([[[2n, 20_000n]], { service_parameters: { web_search_citations: cited } }])
  },
)

test('in a stream of chunks too', async () => {
  answer = asEvents([
    event(chunk('hello')),
    event(finish),
    event({ ...finish, choices: [], usage, citations: sources }),
  ])
  expect(await linesOf(async () => (await chat({ model: 'gateway', stream: true })).text())).toEqual([[2n, 20_000n]])
})

test('it replaces the service’s own search', async () => {
  const parameters = { enable_x_search: true, enable_web_search: 'on' }
  expect((await chat({ model: 'gateway', service_parameters: parameters })).status).toBe(200)
  expect(web.searched).toEqual([])
})

test('the published tool is another way to ask for it', async () => {
  expect((await chat({ model: 'gateway', service_parameters: {}, tools: [{ type: 'x_search' }] })).status).toBe(200)
  expect(server.seen[0]?.body).toMatchObject({ plugins: [{ id: 'web' }] })
  expect(server.seen[0]?.body).not.toHaveProperty('tools')
})

test('at most 20 results are charged, and a report of zero charges none', async () => {
  answer = asJson({ ...completion, citations: Array.from({ length: 90 }, (_, each) => `https://e.com/${each}`) })
  expect(await linesOf(() => chat({ model: 'gateway' }))).toEqual([[20n, 200_000n]])
  answer = asJson({ ...completion, citations: [] })
  expect(await linesOf(() => chat({ model: 'gateway' }))).toEqual([])
})

test('what it may cost is held before it is asked', async () => {
  expect((await chat({ model: 'gateway' }, await service.key(0.1))).status).toBe(402)
  expect(server.seen).toEqual([])
})

test('what it read is paid as prompt, beyond what was held, and not written off', async () => {
  const citations = Array.from({ length: 20 }, (_, each) => `https://e.com/${each}`)
  answer = asJson({ ...completion, citations, usage: { ...usage, prompt_tokens: 90_000 } })
  const told = (await (await chat({ model: 'gateway' })).json()) as ChatCompletion
  expect(told.cost?.usd).toBeCloseTo(0.2 + 0.09 + 0.000_02, 6)
  expect(await service.store.read.selectFrom('entry').select('id').where('kind', '=', 'WRITE_OFF').execute()).toEqual(
    [],
  )
})

test('what is set aside for it buys no tokens of a stream', async () => {
  const words = Array.from({ length: 60 }, () => event(chunk('word '.repeat(100))))
  answer = asEvents([...words, event(finish), 'data: [DONE]\n\n'])
  const text = await (
    await chat({ model: 'gateway', stream: true, max_tokens: undefined }, await service.key(0.235))
  ).text()
  expect(text).toContain('"finish_reason":"error"')
  expect(text.length).toBeLessThan(words.join('').length / 2)
})

test('a model without one refuses it by its name', async () => {
  const refused = await chat({ model: 'none' })
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('none has no search')])
  const plain = await chat({ model: 'gateway', service_parameters: {} })
  expect([plain.status, server.seen[0]?.body.plugins]).toEqual([200, undefined])
})

test.each([
  ['demo', '{ engine: demo }'],
  ['openai without the setting', "{ engine: openai, baseUrl: 'http://127.0.0.1:1/v1' }"],
  ['one of two upstreams', "{ engine: service, baseUrl: 'http://127.0.0.1:1/v1' }, { engine: demo }"],
])('the configuration refuses supportsXSearch for %s', (_what, upstreams) => {
  expect(() => opened(fileOf(modelOf('one', upstreams)))).toThrow(
    expect.objectContaining({
      faults: [expect.objectContaining({ sentence: expect.stringMatching(/supportsXSearch/) })],
    }),
  )
})
