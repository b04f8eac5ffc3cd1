import { afterEach, describe, expect, test } from 'vitest'
import { RateLimitLog, RateLimits } from '#contract/rate-limits.ts'
import { type OpenedService, openService } from './open-service.ts'

const hello = { model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }

describe('limits through the front door', () => {
  let service: OpenedService
  afterEach(() => service.close())

  test('§8.1, §8.4 the 501st request of a minute is refused with every header, and logged', async () => {
    service = await openService()
    const key = await service.key(10)
    const answers: Response[] = []
    for (let sent = 0; sent < 501; sent++) answers.push(await service.post('/chat/completions', hello, key))
    expect(answers.filter(answer => answer.status === 200).length).toBe(500)
    const refused = answers.at(-1)
    expect([refused?.status, await refused?.json()]).toEqual([429, { error: 'Rate limit exceeded' }])
    const resetSeconds = Math.floor(service.clock.now() / 60_000) * 60 + 60
    expect(refused?.headers.get('x-ratelimit-reset-requests')).toBe(String(resetSeconds))
    expect(refused?.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    expect(refused?.headers.get('x-ratelimit-type')).toBe('user')
    service.clock.pass(60_000)
    expect((await service.post('/chat/completions', hello, key)).status).toBe(200)
    for (const path of ['/api_keys/rate_limit_logs', '/api_keys/rate_limits/log']) {
      const log = await service.request(`/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } })
      expect(RateLimitLog.parse(await log.json()).data).toMatchObject([{ modelId: 'demo-chat', rateLimitType: 'RPM' }])
    }
  })

  test('§8.3 the canonical answer names each model’s limits', async () => {
    service = await openService()
    const key = await service.key(3)
    const response = await service.request('/api/v1/api_keys/rate_limits', {
      headers: { authorization: `Bearer ${key}` },
    })
    const { data } = RateLimits.parse(await response.json())
    expect(data.balances.USD).toBe(3)
    expect(data.rateLimits).toContainEqual({
      apiModelId: 'demo-chat',
      rateLimits: [
        { amount: 500, type: 'RPM' },
        { amount: 1_000_000, type: 'TPM' },
      ],
    })
    expect(data.rateLimits).toContainEqual({ apiModelId: 'demo-video', rateLimits: [{ amount: 40, type: 'RPM' }] })
  })

  test('§7.3 the 21st failure within 30 s blocks for 30 s, the caller alone', async () => {
    service = await openService()
    const [key, other] = [await service.key(1), await service.key(1)]
    const fail = () => service.post('/chat/completions', { model: 'none', messages: hello.messages }, key)
    for (let sent = 0; sent < 21; sent++) expect((await fail()).status).toBe(404)
    const blocked = await service.post('/chat/completions', hello, key)
    expect(blocked.status).toBe(429)
    expect(await blocked.json()).toEqual({ error: expect.stringContaining('Too many failed attempts (> 20)') })
    expect((await service.post('/chat/completions', hello, other)).status).toBe(200)
    service.clock.pass(30_000)
    expect((await service.post('/chat/completions', hello, key)).status).toBe(200)
  })

  test('X20 failures without an identity block the address, and nobody who identifies themselves', async () => {
    service = await openService()
    const key = await service.key(1)
    for (let sent = 0; sent < 21; sent++) await service.post('/chat/completions', hello)
    expect((await service.post('/chat/completions', hello)).status).toBe(429)
    expect((await service.post('/chat/completions', hello, key)).status).toBe(200)
  })
})
