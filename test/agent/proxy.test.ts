import { request as ask } from 'node:http'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { payingFetch } from '#agent/fetch/paying-fetch.ts'
import { openProxy } from '#agent/proxy/create-proxy.ts'
import { systemClock } from '#contract/time.ts'
import { agreed } from '../agreed.ts'
import { type AgentSetUp, openAgent } from './open-agent.ts'
import { type PretendOptions, pretendService } from './pretend-service.ts'

const token = 'a-token-of-these-tests'

async function open({ settings, ...options }: PretendOptions & Pick<AgentSetUp, 'settings'> = {}) {
  const service = await pretendService({ credit: 5, ...options })
  const agent = await openAgent({ baseUrl: service.baseUrl, ...(settings ? { settings } : {}) })
  const fetch = payingFetch(agent, { takesConsents: false })
  const proxy = await openProxy({ port: 0, fetch, baseUrl: service.baseUrl, token, clock: systemClock })
  onTestFinished(service.close)
  onTestFinished(agent.close)
  onTestFinished(proxy.close)
  const openai = new OpenAI({ baseURL: proxy.url, apiKey: token, maxRetries: 3 })
  return { service, proxy, openai, agent }
}

const chat = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] }
const withToken = { authorization: `Bearer ${token}` }

const post = (url: string, body: object, headers: Record<string, string> = withToken) =>
  fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  })

/** A request as a browser or a resolver's trick makes it: `fetch` writes its own Host. */
function raw(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = ask(url, { headers }, answer => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    sent.once('error', reject).end()
  })
}

describe('which requests are accepted', () => {
  test.each([
    { who: 'a program with the token', headers: withToken, status: 200 },
    { who: 'one that calls it localhost', headers: { ...withToken, host: 'localhost:PORT' }, status: 200 },
    { who: 'one without a token', headers: {}, status: 401 },
    { who: 'one with another token', headers: { authorization: 'Bearer another-token-of-tests' }, status: 401 },
    { who: 'one with another scheme', headers: { authorization: `Basic ${token}` }, status: 401 },
    { who: 'a page', headers: { ...withToken, origin: 'https://a.example' }, status: 403 },
    { who: 'a page of this very address', headers: { ...withToken, origin: 'http://127.0.0.1:PORT' }, status: 403 },
    { who: 'a name that somebody’s DNS points here', headers: { ...withToken, host: 'a.example:PORT' }, status: 403 },
    { who: 'a name that only begins right', headers: { ...withToken, host: '127.0.0.1.a.example:PORT' }, status: 403 },
    { who: 'another port', headers: { ...withToken, host: '127.0.0.1:1' }, status: 403 },
    { who: 'a host that is none', headers: { ...withToken, host: '%' }, status: 400 },
  ])('$who: $status', async ({ headers, status }) => {
    const { proxy } = await open()
    const { port } = new URL(proxy.url)
    const withPort = Object.entries(headers).map(([name, value]) => [name, value.replace('PORT', port)])
    expect(await raw(`${proxy.url}/models`, Object.fromEntries(withPort))).toBe(status)
  })
})

test('OpenAI’s client needs the base URL and the token alone, and the wallet pays', async () => {
  const { openai, service } = await open({ credit: 0 })
  const models = await openai.models.list()
  expect(models.data.map(({ id }) => id)).toEqual(['m'])
  const answer = await openai.chat.completions.create(chat)
  expect(answer.choices[0]?.message.content).toBe('answer 1')
  expect(service.ledger.signatures).toHaveLength(1)
})

test('the token stays here', async () => {
  const { proxy, service } = await open()
  await (await post(`${proxy.url}/chat/completions`, chat)).text()
  expect(JSON.stringify(service.seen)).not.toContain(token)
})

test.each(['/v1', '/api/v1'])('the API lies under %s, with its query', async base => {
  const { proxy, service } = await open()
  const { origin } = new URL(proxy.url)
  expect((await fetch(`${origin}${base}/models?type=all`, { headers: withToken })).status).toBe(200)
  expect(service.seen.at(-1)?.path).toBe('/api/v1/models?type=all')
})

test.each(['/', '/v2/models', '/v1x/models', '/api/models'])('there is nothing at %s', async path => {
  const { proxy, service } = await open()
  expect((await fetch(`${new URL(proxy.url).origin}${path}`, { headers: withToken })).status).toBe(404)
  expect(service.seen).toEqual([])
})

test('what the policy refuses is said once, with what to do', async () => {
  const { openai, service } = await open({ settings: { maxCallUsd: '0' } })
  await expect(openai.chat.completions.create(chat)).rejects.toThrow(/403 .*FAREBOX_MAX_CALL_USD/)
  expect(service.countOf('/chat/completions')).toBe(0)
})

test('a consent in a request is not the user’s: it is not sent', async () => {
  const { proxy, service } = await open({ asksConsent: true })
  const consents = { demo: agreed }
  const video = { model: 'm', prompt: 'a cat', duration: '5s', image_url: 'https://x.example/a.png', consents }
  expect((await post(`${proxy.url}/video/queue`, video)).status).toBe(409)
  expect(service.ledger.videos).toBe(0)
})

test('a stream comes piece by piece', async () => {
  let end = () => {}
  const instead: PretendOptions['instead'] = ({ path }, response) => {
    if (!path.endsWith('/chat/completions')) return false
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"first":1}\n\n')
    end = () => response.end('data: [DONE]\n\n')
    return true
  }
  const { proxy } = await open({ instead })
  const answer = await post(`${proxy.url}/chat/completions`, { ...chat, stream: true })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader?.read())?.value).toContain('first')
  end()
  expect((await reader?.read())?.value).toContain('[DONE]')
})

test('a client that disconnects aborts the request to the service', async () => {
  const left = Promise.withResolvers<void>()
  const came = Promise.withResolvers<void>()
  const instead: PretendOptions['instead'] = ({ path }, response) => {
    if (!path.endsWith('/chat/completions')) return false
    response.once('close', () => left.resolve())
    came.resolve()
    return true
  }
  const { proxy } = await open({ instead })
  const leaving = new AbortController()
  const asked = fetch(`${proxy.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(chat),
    headers: { 'content-type': 'application/json', ...withToken },
    signal: leaving.signal,
  })
  await came.promise
  leaving.abort()
  await expect(asked).rejects.toThrow()
  await left.promise
})

describe('a service that is in trouble', () => {
  test('answers that were lost on the way are not asked for again: they may have charged it', async () => {
    const instead: PretendOptions['instead'] = ({ path }, response) => {
      if (!path.endsWith('/chat/completions')) return false
      response.socket?.destroy()
      return true
    }
    const { openai, service } = await open({ instead })
    await expect(openai.chat.completions.create(chat)).rejects.toThrow(/502 .*may have charged it/)
    expect(service.countOf('/chat/completions')).toBe(1)
  })

  test('that does not answer: the error says so', async () => {
    const { proxy, service } = await open()
    await service.close()
    const answer = await fetch(`${proxy.url}/models`, { headers: withToken })
    const message = expect.stringContaining(`The service at ${service.baseUrl} cannot be reached.`)
    expect([answer.status, await answer.json()]).toMatchObject([502, { error: { code: 'unreachable', message } }])
  })
})
