import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleOf } from '#contract/operations/examples.ts'
import { modelTypes } from '#contract/operations/models.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { DiscoveryRequired } from '#contract/wire/payment-required.ts'
import { exampleRequest } from '#service/reference/reference.ts'
import { textModel, videoModel } from './models/example-models.ts'
import { adminToken, type OpenedService, openService } from './open-service.ts'
import { wavOfChunks } from './wav-of-chunks.ts'

const base = 'http://127.0.0.1:8402/api/v1'
const all = operations as readonly Operation[]
const recording = wavOfChunks({}, [16_000])

let opened: OpenedService
let key: string
let modelOf: (type: string) => string
beforeAll(async () => {
  opened = await openService({
    search: { search: async () => [] },
    pages: { read: async () => ({ title: 'A page', content: 'Its text.' }) },
  })
  const answer = await opened.request('/admin/v1/keys', {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}` },
    body: JSON.stringify({ usd: '100', label: '', role: 'ADMIN' }),
  })
  key = ((await answer.json()) as { key: string }).key
  const onSale = new Map<string, string>()
  for (const type of modelTypes) {
    const listed = await opened.request(`/api/v1/models?type=${type}`)
    const { data } = (await listed.json()) as { data: { id: string }[] }
    if (data[0]) onSale.set(type, data[0].id)
  }
  modelOf = type => onSale.get(type) ?? 'MODEL'
})
afterAll(() => opened.close())

const pageAt = async (path: string, of = opened) => {
  const answer = await of.request(path)
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

const linksIn = (text: string): string[] => [...text.matchAll(/href="([^"]+)"/g)].map(([, link]) => link ?? '')

describe('the pages', () => {
  test('the address alone leads to them', async () => {
    const { status, headers } = await pageAt('/')
    expect([status, headers.get('location')]).toEqual([302, 'http://127.0.0.1:8402/docs'])
  })

  test('the index links a page for each operation, and every link leads somewhere', async () => {
    const { text } = await pageAt('/docs')
    const links = linksIn(text)
    expect(links).toEqual(expect.arrayContaining(all.map(({ id }) => `/docs/${id}`)))
    for (const link of new Set(links)) expect([link, (await pageAt(link)).status]).toEqual([link, 200])
  })

  test('a page has the limits of its body', async () => {
    expect((await pageAt('/docs/createChatCompletion')).text).toContain('application/json. At most 10 MiB.')
  })

  test('they run no script and load nothing', async () => {
    for (const path of ['/docs', '/docs/createChatCompletion']) {
      const { text, headers } = await pageAt(path)
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[^;]+'; base-uri 'none'/,
      )
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(text).not.toMatch(/<script|<img|<link|style="|javascript:/i)
    }
  })

  test.each(['/docs/none', '/docs/constructor', '/policies/none'])('%s is a 404', async path => {
    expect((await pageAt(path)).status).toBe(404)
  })

  test('a paid operation names each of its models with its price', async () => {
    const { text } = await pageAt('/docs/createChatCompletion')
    expect(text).toContain(
      '<code>demo-chat</code>: 0.15 USD per million input tokens, 0.6 USD per million output tokens',
    )
    expect((await pageAt('/docs/webSearch')).text).toContain('0.01')
  })

  test('what an operator has written is shown as text', async () => {
    const evil = '<script>alert(1)</script>'
    const consent = { provider: 'seedance', title: `${evil} A&B`, version: 'v2', text: `I agree to ${evil} "all"` }
    const other = await openService({
      models: ({ chat, video }) => [
        textModel({ name: evil, description: evil, engine: chat }),
        videoModel({ engine: video, consent }),
      ],
    })
    try {
      for (const path of ['/docs', '/docs/createChatCompletion', '/policies/seedance']) {
        const { status, text } = await pageAt(path, other)
        expect(status).toBe(200)
        expect(text).not.toMatch(/<script>|<img/)
      }
      const { text } = await pageAt('/policies/seedance', other)
      expect(text).toContain('I agree to &lt;script&gt;alert(1)&lt;/script&gt; &quot;all&quot;')
    } finally {
      await other.close()
    }
  })
})

describe('answers link to the pages', () => {
  test('a call without credentials gets links to keys and documents', async () => {
    const refused = await opened.post('/chat/completions', exampleBody('createChatCompletion'))
    const { authOptions } = DiscoveryRequired.parse(await refused.json())
    for (const link of [authOptions.apiKey.getKey, authOptions.apiKey.docs, authOptions.x402Wallet.docs])
      expect((await pageAt(new URL(link).pathname)).status).toBe(200)
  })
})

const exampleBody = (id: string) => exampleOf(id, modelOf).body

/** What an example in capitals, a wallet or a file of the caller's stands for is not here, and the answer says so. */
const notHere: Readonly<Record<string, number>> = {
  getCharacterBySlug: 404,
  getCharacterReviews: 404,
  createClonedVoice: 400,
  quoteAudio: 404,
  queueAudio: 404,
  retrieveAudio: 400,
  completeAudio: 400,
  retrieveVideo: 400,
  completeVideo: 400,
  createTextParser: 400,
  createVideoTranscription: 503,
  cryptoRpcProxy: 400,
  topUpX402Balance: 402,
  getX402Balance: 402,
  getX402Transactions: 402,
  updateApiKey: 404,
  deleteApiKey: 404,
  getApiKeyById: 404,
  postApiKeyGenerateWeb3Key: 400,
  getReceipt: 400,
}

describe('the example on each page is a request that works', () => {
  test.each(all.map(operation => [operation.id, operation] as const))('%s', async (id, operation) => {
    const { method, path, body } = exampleRequest(operation, exampleOf(id, modelOf))
    const form = new FormData()
    if (body && 'form' in body) {
      for (const [name, value] of body.form) {
        if (typeof value === 'string') form.append(name, value)
        else form.append(name, new File([new Uint8Array(recording)], value.name))
      }
    }
    const answer = await opened.request(`${new URL(base).pathname}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && 'json' in body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: 'json' in body ? JSON.stringify(body.json) : form } : {}),
    })
    const text = await answer.text()
    expect([answer.status, text.slice(0, 300)]).toEqual([notHere[id] ?? 200, expect.anything()])
    // The page shows this very request.
    const page = (await pageAt(`/docs/${id}`)).text
    expect(page).toContain(path.replaceAll('&', '&amp;').replaceAll("'", '&#39;'))
  })
})
