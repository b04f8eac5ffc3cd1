import { describe, expect, test } from 'vitest'
import { rateLimitExceeded, tooManyFailures } from '#contract/errors/errors.ts'
import { openAgent } from './open-agent.ts'
import { chat, fetches, post } from './program-fetch.ts'

const { open, closing } = fetches()

describe('what the service says of its limits', () => {
  const inAnHour = () => `${Math.ceil(Date.now() / 1_000) + 3_600}`
  const usedUp = () => ({
    'x-ratelimit-limit-requests': '1',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': inAnHour(),
  })

  test.each<[rule: string, status: number, headers: () => Record<string, string>, body: unknown]>([
    [
      'in a refusal, by the time to try again in a moment',
      429,
      () => ({ 'retry-after': '3600' }),
      rateLimitExceeded().body,
    ],
    ['in a refusal, by its window', 429, usedUp, rateLimitExceeded().body],
    ['in an answer that used up the last of it', 200, usedUp, {}],
  ])('%s is known to the next request, and to the tools of every process', async (_rule, status, headers, body) => {
    const opened = await open({
      instead: ({ path }, response) => {
        if (!path.endsWith('/chat/completions')) return false
        response.writeHead(status, { 'content-type': 'application/json', ...headers() }).end(JSON.stringify(body))
        return true
      },
    })
    const first = await post(opened, '/chat/completions', chat)
    expect([first.status, await first.json()]).toEqual([status, body])
    const next = await post(opened, '/chat/completions', chat)
    expect([next.status, await next.json()]).toMatchObject([429, { error: { code: 'limit-reached' } }])
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThan(3_000)
    const other = await openAgent({ baseUrl: opened.server.baseUrl, dataFolder: opened.agent.dataFolder })
    closing.push(other.close)
    await expect(other.chat()).rejects.toMatchObject({ facts: { charged: 0n, retryAtMs: expect.any(Number) } })
    expect(opened.server.countOf('/chat/completions')).toBe(1)
  })

  test('that it blocks this caller keeps everything back, also of another kind', async () => {
    const { status, body } = tooManyFailures()
    const opened = await open({
      instead: ({ path }, response) => {
        if (!path.endsWith('/chat/completions')) return false
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
        return true
      },
    })
    expect((await post(opened, '/chat/completions', chat)).status).toBe(status)
    const next = await opened.fetch(`${opened.server.baseUrl}/other`)
    expect([next.status, await next.json()]).toMatchObject([429, { error: { code: 'breaker-open' } }])
    expect(opened.server.countOf('/other')).toBe(0)
  })
})
