/** Attacks by callers on the choice of an upstream, and by upstreams on callers. */

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { asJson, completion, type Upstream, upstream } from '../engines/openai/upstream.ts'
import { closeSound } from './close-sound.ts'
import { configuredModels } from './config/configured-models.ts'
import { type OpenedService, openService, TestClock } from './open-service.ts'

const clock = new TestClock()
let near: Upstream
let evil: Upstream
let service: OpenedService
let key: string
const spoken = {
  'set-cookie': 'a=b',
  'x-service-balance-usd': '1000000.000000',
  'payment-required': 'e30=',
  'www-authenticate': 'Basic',
  location: 'http://evil.example/',
  'access-control-allow-origin': '*',
  'x-evil': '1',
  'content-disposition': 'attachment; filename=evil.exe',
}

beforeAll(async () => {
  near = await upstream(asJson(completion, 200, spoken))
  evil = await upstream(asJson(completion))
  service = await openService({
    clock,
    models: () => {
      const environment = { ENGINE_KEY: 'sk-of-the-operator' }
      return configuredModels(
        `publicUrl: http://127.0.0.1:8402
models:
  - id: forwarded
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 10, outputPerMillionUsd: 10 }
    upstreams: [{ engine: openai, baseUrl: '${near.baseUrl}', model: inner, apiKey: '\${ENGINE_KEY}' }]`,
        { clock, environment },
      )
    },
  })
  key = await service.key(10)
})
afterAll(async () => {
  await closeSound(service)
  await near.close()
  await evil.close()
})
beforeEach(() => {
  near.seen.length = 0
  clock.pass(60_000)
})

const chat = (more: object = {}, headers: Record<string, string> = {}) =>
  service.request('/api/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ model: 'forwarded', messages: [{ role: 'user', content: 'hi' }], max_tokens: 8, ...more }),
  })

test('G2: no member of a request chooses who is asked, or with which key', async () => {
  const address = evil.baseUrl
  const members = {
    ...{ api_base: address, base_url: address, baseURL: address, 'api-base': address, API_BASE: address, url: address },
    ...{
      api_key: 'x',
      headers: { authorization: 'x', 'x-evil': '1' },
      extra_headers: { 'x-evil': '1' },
      proxy: address,
    },
    ...{ extra_body: { api_base: address }, extra_query: { a: 1 }, litellm_params: { api_base: address } },
    service_parameters: { base_url: address, api_key: 'x' },
  }
  expect((await chat(members)).status).toBe(200)
  for (const [name, value] of Object.entries(members)) expect((await chat({ [name]: value })).status).toBe(200)
  expect([evil.seen, evil.connections()]).toEqual([[], 0])
  for (const { headers, body } of near.seen) {
    expect(headers.authorization).toBe('Bearer sk-of-the-operator')
    expect(headers).not.toHaveProperty('x-evil')
    expect(JSON.stringify(body)).not.toContain(address)
  }
})

test('G2: and no header of it goes on, the caller’s key least of all', async () => {
  const sent = { 'x-evil': '1', cookie: 'a=b', 'x-api-key': 'x', 'proxy-authorization': 'x', 'idempotency-key': 'one' }
  expect((await chat({}, { ...sent, 'x-forwarded-host': 'evil.example', 'openai-organization': 'x' })).status).toBe(200)
  const said = JSON.stringify(near.seen[0]?.headers)
  expect(said).not.toContain(key)
  for (const name of [...Object.keys(sent), 'x-forwarded-host', 'openai-organization'])
    expect(near.seen[0]?.headers).not.toHaveProperty(name)
})

test('G3: no header of an upstream’s answer goes on to the caller', async () => {
  const { headers } = await chat()
  for (const [name, value] of Object.entries(spoken)) expect(headers.get(name)).not.toBe(value)
  expect(headers.has('x-evil')).toBe(false)
})

const traced = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
test.each([
  ['a state that is not text', 'a=\x80'],
  ['a state that is longer than any', 'a=b,'.repeat(200)],
  ['a state with tabs', 'a=\tb'],
])('D6: a trace hands on nothing of %s', async (_what, tracestate) => {
  await chat({}, { traceparent: traced, tracestate })
  expect(near.seen[0]?.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  expect(near.seen[0]?.headers).not.toHaveProperty('tracestate')
})

test.each([`${traced}, x-evil: 1`, `${traced}\tx-evil: 1`, traced.toUpperCase(), `${traced}-x-evil`, `x${traced}`])(
  'D6: %s is no trace, or only its first part is',
  async traceparent => {
    await chat({}, { traceparent, tracestate: 'a=b' })
    const headers = near.seen[0]?.headers ?? {}
    expect(headers.traceparent ?? '').toMatch(/^(00-[0-9a-f]{32}-[0-9a-f]{16}-01)?$/)
    expect(Object.keys(headers).filter(name => name.includes('evil'))).toEqual([])
  },
)
