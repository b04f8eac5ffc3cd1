import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { leaveOutMs } from '#engines/upstreams/upstream-health.ts'
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
import { closeSound } from './close-sound.ts'
import { configuredModels } from './config/configured-models.ts'
import { type OpenedService, openService, TestClock } from './open-service.ts'

/** Two servers behind one model, each of which answers as a test says. */
type Answer = Parameters<typeof upstream>[0]
const answers: Answer[] = []
const servers: Upstream[] = []
const clock = new TestClock()
const token = 'the token of whoever reads figures'
let service: OpenedService
let key: string

const whole = asJson(completion)
const streamed = asEvents([
  event(chunk('hello')),
  event(finish),
  event({ ...finish, choices: [], usage }),
  'data: [DONE]\n\n',
])
const down = asJson({ error: { message: 'oh' } }, 503)
const fault = asJson({ error: { message: 'failed to parse grammar' } }, 500)
/** Fails at what callers here ask, and does all else well: our own probe, and what others ask. */
const poisoned =
  (place: number): Answer =>
  response =>
    (JSON.stringify(servers[place]?.seen.at(-1)?.body).includes('a poisoned wish') ? fault : whole)(response)
const broken = asEvents([event(chunk('hel')), 'data: {'], { end: true })

beforeAll(async () => {
  for (const index of [0, 1]) servers.push(await upstream((...sent) => (answers[index] ?? whole)(...sent)))
  const urls = servers.map(({ baseUrl }) => baseUrl)
  service = await openService({
    clock,
    metricsToken: token,
    models: () => {
      return configuredModels(
        `publicUrl: http://127.0.0.1:8402
models:
  - id: twice
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 10, outputPerMillionUsd: 10 }
    traits: [default]
    upstreams:
      - { engine: openai, name: near, baseUrl: '${urls[0]}', model: inner-near, weight: 1000 }
      - { engine: openai, name: far, baseUrl: '${urls[1]}', model: inner-far }
  - id: once
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 10, outputPerMillionUsd: 10 }
    upstreams: [{ engine: openai, name: only, baseUrl: '${urls[0]}', model: inner-only }]`,
        { clock },
      )
    },
  })
  key = await service.key(1)
})
afterEach(() => {
  answers.length = 0
  for (const { seen } of servers) seen.length = 0
  // An upstream that was taken out gets its trial in the next test.
  clock.pass(100 * leaveOutMs)
})
afterAll(async () => {
  await closeSound(service)
  for (const server of servers) await server.close()
})

const chat = (more: object = {}, headers: Record<string, string> = {}) =>
  service.request('/api/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ model: 'twice', messages: [{ role: 'user', content: 'a secret wish' }], ...more }),
  })

async function charges(run: () => Promise<unknown>): Promise<number> {
  const count = async () =>
    (await service.store.read.selectFrom('entry').select('id').where('kind', '=', 'CHARGE').execute()).length
  const before = await count()
  await run()
  return (await count()) - before
}

describe('a call that failed over', () => {
  test.each([
    ['whole', {}, whole],
    ['streamed', { stream: true }, streamed],
  ])('is charged once, and says how often it was tried: %s', async (_, more, answer) => {
    answers[0] = answer
    const plainly = await charges(async () => void (await (await chat(more)).text()))
    answers[0] = down
    answers[1] = answer
    let response = new Response()
    let text = ''
    const lines = await charges(async () => {
      response = await chat(more)
      text = await response.text()
    })
    expect([response.status, response.headers.get('x-retry-count'), lines]).toEqual([200, '1', plainly])
    expect(text).toContain('hello')
    expect(servers.map(({ seen }) => seen.at(-1)?.body.model)).toEqual(['inner-near', 'inner-far'])
  })

  test('is not tried again once its first piece has left', async () => {
    answers[0] = broken
    answers[1] = streamed
    const response = await chat({ stream: true })
    expect(await response.text()).toContain('"finish_reason":"error"')
    expect([response.headers.get('x-retry-count'), servers[1]?.seen.length]).toEqual([null, 0])
  })

  test('where all fail nothing is charged, and the answer says when to try again in a moment', async () => {
    answers[0] = answers[1] = down
    const lines = await charges(async () => {
      const response = await chat()
      expect([response.status, response.headers.get('x-retry-count')]).toEqual([503, '1'])
    })
    const next = await chat()
    expect([lines, next.status, next.headers.get('retry-after')]).toEqual([0, 429, '1'])
  })
})

const poison = { messages: [{ role: 'user', content: 'a poisoned wish' }] }
const bearer = async () => ({ authorization: `Bearer ${await service.key(1)}` })

describe('D11: what requests break is not taken from others', () => {
  test.each([
    ['one upstream', 'once', {}, whole],
    ['two upstreams', 'twice', {}, whole],
    ['streams', 'twice', { stream: true }, streamed],
  ])('%s', async (_, model, more, answer) => {
    const accounts = [await bearer(), await bearer()]
    answers[0] = poisoned(0)
    answers[1] = poisoned(1)
    for (let call = 0; call < 14; call++) {
      const asked = { model, ...more, ...poison }
      expect((await chat(asked, accounts[call % 2])).status).toBe(500)
    }
    answers[0] = answers[1] = answer
    const response = await chat({ model, ...more })
    expect([response.status, (await response.text()).includes('hello')]).toEqual([200, true])
  })

  test('an engine that fails at our own probe as well is left out', async () => {
    answers[0] = fault
    for (let call = 0; call < 3; call++) expect((await chat({ model: 'once' })).status).toBe(500)
    await expect.poll(async () => (await chat({ model: 'once' })).status).toBe(503)
    expect(servers[0]?.seen.map(({ body }) => [body.model, body.max_tokens])).toContainEqual(['inner-only', 16])
  })

  test('and answers of an open breaker block no account', async () => {
    answers[0] = fault
    const breaking = await bearer()
    for (let call = 0; call < 3; call++) await chat({ model: 'once' }, breaking)
    await expect.poll(async () => (await chat({ model: 'once' }, breaking)).status).toBe(503)
    const innocent = await bearer()
    for (let call = 0; call < 40; call++) expect((await chat({ model: 'once' }, innocent)).status).toBe(503)
    // The next trial comes before a block would be over.
    clock.pass(2 * leaveOutMs)
    answers[0] = whole
    expect((await chat({ model: 'once' }, innocent)).status).toBe(200)
  })
})

describe('a trace', () => {
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const sent = `00-${trace}-b7ad6b7169203331-01`

  test('D6: goes on to the upstream under a span of its own, with the request’s id', async () => {
    const response = await chat({}, { traceparent: sent, tracestate: 'a=b' })
    const headers = servers[0]?.seen[0]?.headers
    expect(headers?.traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
    expect(headers?.traceparent).not.toBe(sent)
    expect([headers?.tracestate, headers?.['x-request-id']]).toEqual(['a=b', response.headers.get('cf-ray')])
    expect(service.ended.at(-1)).toMatchObject({ traceId: trace })
  })

  test.each([
    '',
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    'x',
  ])('that is none is not handed on: %s', async traceparent => {
    await chat({}, { traceparent })
    expect(servers[0]?.seen[0]?.headers).not.toHaveProperty('traceparent')
  })
})

test('a request that ended is one line, without a key, a prompt or a query', async () => {
  const response = await chat()
  expect(service.ended.at(-1)).toEqual({
    requestId: response.headers.get('cf-ray'),
    operation: 'createChatCompletion',
    status: 200,
    ms: expect.any(Number),
    account: expect.stringMatching(/^….{8}$/),
  })
  await service.request('/api/v1/models?secret=1')
  await service.request('/api/v1/nothing?secret=1')
  expect(service.ended.slice(-2)).toMatchObject([
    { operation: 'listModels', status: 200 },
    { operation: 'unknown', status: 404 },
  ])
  const before = service.ended.length
  await service.request('/healthz')
  expect(service.ended.length).toBe(before)
  const told = JSON.stringify(service.ended)
  for (const secret of [key, 'a secret wish', 'secret=1']) expect(told).not.toContain(secret)
})

describe('figures', () => {
  const figures = (authorization?: string) =>
    service.request('/metrics', authorization ? { headers: { authorization } } : {})

  test('D5: are served to callers with the token', async () => {
    expect([(await figures()).status, (await figures('Bearer wrong')).status]).toEqual([401, 401])
    const response = await figures(`Bearer ${token}`)
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/plain'),
    ])
  })

  test('D5: tell of requests, upstreams, ledger and holds, and of no caller', async () => {
    answers[0] = down
    await chat()
    const text = await (await figures(`Bearer ${token}`)).text()
    for (const line of [
      /^farebox_requests_total\{operation="createChatCompletion",status="200"\} \d+$/m,
      /^farebox_request_seconds_bucket\{le="0.005",operation="createChatCompletion"\} \d+$/m,
      /^farebox_upstream_retries_total\{operation="createChatCompletion"\} [1-9]\d*$/m,
      /^farebox_upstream_state\{model="twice",upstream="near",state="up"\} 1$/m,
      /^farebox_upstream_failures_total\{model="twice",upstream="near",kind="MODEL_AT_CAPACITY"\} [1-9]\d*$/m,
      /^farebox_model_waiting\{model="twice"\} 0$/m,
      /^farebox_ledger_up 1$/m,
      /^farebox_ledger_open 1$/m,
      /^farebox_holds 0$/m,
    ]) {
      expect(text).toMatch(line)
    }
    expect(text).not.toContain(key)
  })

  test('D5: are not served unless configured', async () => {
    const plain = await openService()
    expect((await plain.request('/metrics')).status).toBe(404)
    await plain.close()
  })
})
