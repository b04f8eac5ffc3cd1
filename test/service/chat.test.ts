import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ChatCompletion } from '#contract/operations/chat.ts'
import { balanceOf } from '#ledger/accounts/balances.ts'
import { audit } from '#ledger/audit/audit.ts'
import { eventsOf } from './chat-fixture.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

const hello = { model: 'demo-chat', messages: [{ role: 'user', content: 'Count these four words' }] }

describe('chat completions', () => {
  let service: OpenedService
  let key: string
  beforeAll(async () => {
    service = await openService()
    key = await service.key(1)
  })
  afterAll(async () => {
    const report = await audit(service.database)
    expect(report.findings).toEqual([])
    await closeSound(service)
  })

  test('§1.2 a whole answer, charged by its tokens', async () => {
    const response = await service.post('/chat/completions', hello, key)
    expect(response.status).toBe(200)
    const completion = ChatCompletion.parse(await response.json())
    expect(completion.model).toBe('demo-chat')
    expect(completion.cost?.usd).toBeGreaterThan(0)
    expect(response.headers.get('x-service-balance-usd')).toBe('1.000000')
    expect(response.headers.get('x-service-model-id')).toBe('demo-chat')
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('500')
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('499')
  })

  test('§1.2 a stream ends with usage if requested, and with [DONE]', async () => {
    const body = { ...hello, stream: true, stream_options: { include_usage: true } }
    const response = await service.post('/chat/completions', body, key)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const events = eventsOf(await response.text())
    expect(events.at(-1)).toBe('[DONE]')
    const usage = JSON.parse(events.at(-2) ?? '')
    expect(usage.choices).toEqual([])
    expect(usage.usage.total_tokens).toBeGreaterThan(0)
    expect(usage.cost.usd).toBeGreaterThan(0)
  })

  test('§1.2 without stream_options no chunk lacks a choice', async () => {
    const response = await service.post('/chat/completions', { ...hello, stream: true }, key)
    const events = eventsOf(await response.text())
    expect(events.slice(0, -1).every(event => JSON.parse(event).choices.length > 0)).toBe(true)
  })

  test('a reader that leaves frees the hold and pays what it got', async () => {
    const leaver = await service.key(1)
    const body = { ...hello, messages: [{ role: 'user', content: 'word '.repeat(400) }], stream: true }
    const response = await service.post('/chat/completions', body, leaver)
    const reader = response.body?.getReader()
    for (let read = 0; read < 5; read++) await reader?.read()
    await reader?.cancel()
    const account = await service.store.read
      .selectFrom('entry')
      .select('account')
      .orderBy('seq', 'desc')
      .executeTakeFirstOrThrow()
    const balance = await balanceOf(service.store, account.account)
    expect(balance.heldMicroUsd).toBe(0n)
    expect(balance.postedMicroUsd).toBeLessThan(1_000_000n)
  })

  const refusals: [rule: string, body: unknown, status: number, says: string][] = [
    ['§7 an absent model', { messages: hello.messages }, 400, 'model'],
    ['§7 an unknown model', { ...hello, model: 'no-such-model' }, 404, 'Specified model not found'],
    ['§7 no messages', { ...hello, messages: [] }, 400, 'messages'],
    ['§7 a temperature beyond 2', { ...hello, temperature: 3 }, 400, 'temperature'],
    [
      '§2.8 an option that is not built',
      { ...hello, service_parameters: { enable_web_search: 'on' } },
      400,
      'enable_web_search',
    ],
    ['§2.8 the same as a suffix', { ...hello, model: 'demo-chat:enable_web_search=on' }, 400, 'enable_web_search'],
    ['§2.8 a wrong value of a suffix', { ...hello, model: 'demo-chat:enable_web_search=maybe' }, 400, 'off, on, auto'],
    [
      '§5.2 more than the credit',
      { ...hello, max_tokens: 16_000, n: 16, messages: [{ role: 'user', content: 'x'.repeat(100_000) }] },
      402,
      'Insufficient',
    ],
  ]
  test.each(refusals)('%s', async (_rule, body, status, says) => {
    const poor = await service.key(0.01)
    const response = await service.post('/chat/completions', body, poor)
    const text = await response.text()
    expect([response.status, text]).toEqual([status, expect.stringContaining(says)])
    const charges = await service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()
    expect(charges.filter(charge => charge.posted_after < 10_000n)).toEqual([])
    expect(await service.store.read.selectFrom('hold').selectAll().execute()).toEqual([])
  })

  const broken: [rule: string, init: RequestInit, status: number][] = [
    ['§7 broken JSON', { headers: { 'content-type': 'application/json' }, body: '{"model":' }, 400],
    ['§7 another content type', { headers: { 'content-type': 'text/plain' }, body: '{}' }, 415],
    ['§7 no body', { headers: { 'content-type': 'application/json' } }, 400],
    [
      '§7 a compressed body',
      { headers: { 'content-type': 'application/json', 'content-encoding': 'br' }, body: '{}' },
      415,
    ],
    ['§7 nesting without end', { headers: { 'content-type': 'application/json' }, body: '['.repeat(100_000) }, 400],
  ]
  test.each(broken)('%s', async (_rule, init, status) => {
    const headers = { ...init.headers, authorization: `Bearer ${await service.key(1)}` }
    const response = await service.request('/api/v1/chat/completions', { method: 'POST', ...init, headers })
    expect(response.status).toBe(status)
    expect(await response.json()).toHaveProperty('error')
  })

  test('§5 no credentials: a 402 that explains how to sign in, without payment options', async () => {
    const response = await service.post('/chat/completions', hello)
    expect(response.status).toBe(402)
    expect(await response.json()).toMatchObject({ x402Version: 2, accepts: [], extensions: { 'sign-in-with-x': {} } })
    expect(response.headers.get('payment-required')).toBeTruthy()
  })

  test('§9 every answer says who answered and is not kept', async () => {
    const response = await service.request('/api/v1/nowhere')
    expect(response.status).toBe(404)
    for (const name of ['cf-ray', 'x-service-version', 'x-service-timestamp'])
      expect(response.headers.get(name)).toBeTruthy()
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('a reader that leaves before the first event pays for what the engine gave, and holds nothing', async () => {
    const leaver = await service.key(1)
    const response = await service.post('/chat/completions', { ...hello, stream: true }, leaver)
    await response.body?.cancel()
    await expect.poll(async () => (await service.store.read.selectFrom('hold').selectAll().execute()).length).toBe(0)
  })

  test('§9 the description is served with the headers of every answer, the same text each time', async () => {
    const [first, second] = [
      await service.request('/api/v1/openapi.yaml'),
      await service.request('/api/v1/openapi.yaml'),
    ]
    expect(first.headers.get('cf-ray')).toBeTruthy()
    expect(await first.text()).toBe(await second.text())
  })

  test('a path of the contract with another method is a 405 that names the right one', async () => {
    for (const [path, allow] of [
      ['/models', 'GET'],
      ['/x402/balance/0x0000000000000000000000000000000000000001', 'GET'],
      ['/api_keys/rate_limits/log', 'GET'],
    ]) {
      const response = await service.request(`/api/v1${path}`, { method: 'POST' })
      expect([path, response.status, response.headers.get('allow')]).toEqual([path, 405, allow])
    }
  })
})
