/** Hostile text in every place where the service accepts text. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createKey } from '#access/keys/api-keys.ts'
import { jsonDepth } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import type { keyRoles } from '#contract/operations/keys.ts'
import { bodyTypesOf } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { ScriptedChat, words } from './chat-script.ts'
import { closeSound } from './close-sound.ts'
import { textModel } from './models/example-models.ts'
import { type OpenedService, openService } from './open-service.ts'

const engine = new ScriptedChat()
let service: OpenedService
let key: string
let admin: string
beforeAll(async () => {
  service = await openService({
    models: engines => [
      ...demoModels(engines),
      textModel({ id: 'narrow', tier: 'M', engine, traits: [] }),
      textModel({ id: 'slim', tier: 'L', engine, traits: [] }),
    ],
    search: { search: async () => [] },
    pages: { read: async () => ({ title: '', content: '' }) },
    networks: [{ slug: 'test-chain', node: { ask: async ({ calls }) => calls.map(() => ({ result: '0x1' })) } }],
  })
  admin = await newKey('ADMIN')
})
afterAll(async () => {
  await closeSound(service)
})
beforeEach(async () => {
  service.clock.pass(60_000)
  engine.play(words('one'))
  key = await service.key(100)
})

const newKey = async (role: (typeof keyRoles)[number]) => {
  const order = { amountMicroUsd: microUsd(100_000_000), label: 'test', role }
  return (await createKey({ keys: service.service.keys, now: () => service.clock.now() }, order)).key
}

const send = (path: string, body: string, more: Record<string, string> = {}, method = 'POST') =>
  service.request(`/api/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...more },
    ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
  })
const chatText = (model: string, more: object = {}) =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 1, ...more })

const taking = [...operations]
  .filter(operation => 'body' in operation.request && bodyTypesOf(operation).includes('json'))
  .map(operation => [operation.id, operation] as const)
const addressOf = (path: string, id = 'x') => path.replaceAll(/\{\w+\}/g, id)

describe('JSON that is made to be read for long, or to be read otherwise', () => {
  const deep = (levels: number) => `{"model":"demo-chat","deep":${'['.repeat(levels)}${']'.repeat(levels)}}`
  const shapes: [what: string, text: string][] = [
    ['one level too many', deep(jsonDepth)],
    ['a million levels', deep(1_000_000)],
    ['a million levels that never end', `{"a":${'{"a":'.repeat(1_000_000)}`],
  ]
  test.each(taking)('G5: %s refuses nesting that is deeper than any request', async (_id, { method, path }) => {
    for (const [what, text] of shapes) {
      const response = await send(addressOf(path), text, { authorization: `Bearer ${admin}` }, method)
      expect([what, response.status >= 400 && response.status < 500]).toEqual([what, true])
    }
    service.clock.pass(60_000)
  })

  const traps = ['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}']
  test.each(taking)('G8: %s takes no member for a part of every object', async (_id, { method, path }) => {
    for (const trap of traps) {
      const text = `{"model":"demo-chat","messages":[{"role":"user","content":"hi"}],"service_parameters":${trap},${trap.slice(1)}`
      const response = await send(addressOf(path), text, { authorization: `Bearer ${admin}` }, method)
      expect(response.status).not.toBe(500)
      expect(await response.text()).not.toContain('polluted')
    }
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    service.clock.pass(60_000)
  })

  test.each([
    'demo-chat:__proto__=1',
    'demo-chat:constructor=1&toString=2',
    'demo-chat:strip_thinking_response=true&__proto__.polluted=1',
  ])('G8: nor does the suffix %s', async model => {
    expect((await send('/chat/completions', chatText(model))).status).toBe(200)
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test.each(['/models?__proto__=1', '/models?type=__proto__', '/characters?__proto__[a]=1&tags=__proto__'])(
    'G8: nor the query %s',
    async path => {
      expect((await send(path, '', {}, 'GET')).status).toBeLessThan(500)
      expect(Object.keys(Object.prototype)).toEqual([])
    },
  )
})

/** A pattern that begins anew at each place of these takes minutes or years. Shorter ones would pass in a quadratic one too. */
describe('texts that are made to be searched for long', { timeout: 60_000 }, () => {
  const length = 300_000
  const runs: [what: string, text: string][] = [
    ['spaces before a word', `${' '.repeat(length)}x`],
    ['dots after an address', `https://a.example/${'.'.repeat(length)}x`],
    ['addresses without end', 'http://'.repeat(length / 7)],
    ['line ends', `${'\n'.repeat(length)}x`],
    ['options', `demo-chat${':a='.repeat(length / 3)}`],
    ['pairs of options', `demo-chat:a=${'&a=b'.repeat(length / 4)}`],
    ['colons', `demo-chat${':'.repeat(length)}=`],
    ['marks of thinking', '<think>'.repeat(length / 7)],
    ['half marks of thinking', '<think'.repeat(length / 6)],
    ['percent signs', `demo-chat:a=${'%'.repeat(length)}`],
    ['one letter', 'a'.repeat(length)],
    ['digits with a sign', '-1'.repeat(length / 2)],
    ['invalid characters', '\ufffd'.repeat(length)],
  ]
  test.each(runs)('G6: %s, in the name of a model', async (_what, text) => {
    expect((await send('/chat/completions', chatText(text))).status).toBeLessThan(500)
  })

  test.each(runs)('G6: %s, in a message whose addresses are read', async (_what, text) => {
    const messages = [{ role: 'user', content: text }]
    for (const options of [
      { enable_web_scraping: true },
      { enable_web_search: 'on' },
      { strip_thinking_response: true },
    ]) {
      const body = { messages, service_parameters: options }
      const response = await send('/chat/completions', chatText('demo-chat', body))
      await response.text()
      expect(response.status).toBeLessThan(500)
    }
  })

  test.each(runs)('G6: %s, wherever else a text is taken', async (_what, text) => {
    for (const [path, body] of [
      ['/video/queue', { model: 'demo-video', prompt: 'a', duration: text, image_url: text }],
      ['/image/generate', { model: 'demo-image', prompt: text }],
      ['/embeddings', { model: text, input: 'a' }],
      ['/augment/search', { query: text }],
      ['/augment/scrape', { url: text }],
      ['/crypto/rpc/test-chain', { jsonrpc: '2.0', id: 1, method: text }],
    ] as const) {
      expect((await send(path, JSON.stringify(body))).status).toBeLessThan(500)
    }
  })
})

/** What would begin another line of a header, a log or a terminal, or another answer. */
const lines = [
  '\r\nx-evil: 1',
  '\nx-evil: 1',
  '\r\n\r\n<evil>',
  '\u2028x-evil: 1',
  '\0x-evil',
  '\x1b[2Jx-evil',
  'é…x-evil',
]

describe('texts of a caller in headers, logs and paths', () => {
  const places: [where: string, ask: (text: string) => Promise<Response>][] = [
    ['a model', text => send('/chat/completions', chatText(`demo-chat${text}`))],
    ['an option of a model', text => send('/chat/completions', chatText(`demo-chat:character_slug=a${text}`))],
    ['a model of a video', text => send('/video/quote', JSON.stringify({ model: text, duration: '5s' }))],
    ['a job', text => send('/video/retrieve', JSON.stringify({ model: 'demo-video', queue_id: text }))],
    ['a network', text => send(`/crypto/rpc/${encodeURIComponent(text)}`, '{}')],
    ['a character', text => send(`/characters/${encodeURIComponent(text)}`, '', {}, 'GET')],
    ['a key', text => send(`/api_keys/${encodeURIComponent(text)}`, '', { authorization: `Bearer ${admin}` }, 'GET')],
    ['a path that is not there', text => send(`/${encodeURIComponent(text)}`, '', {}, 'GET')],
    [
      'a download',
      text => service.request(`/downloads/${encodeURIComponent(text)}?signature=${encodeURIComponent(text)}`),
    ],
    ['an unknown member', text => send('/chat/completions', chatText('demo-chat', { [text]: text, user: text }))],
  ]
  test.each(places)('G3: %s begins no header and no answer of its own', async (_where, ask) => {
    for (const text of lines) {
      const response = await ask(text)
      expect(response.status).toBeLessThan(500)
      expect(response.headers.has('x-evil')).toBe(false)
      for (const [name, value] of response.headers) expect(`${name}: ${value}`).toMatch(/^[\t\x20-\x7e\xa0-\xff]+$/)
      await response.text()
      service.clock.pass(30_000)
    }
  })

  test.each(places)('G13: %s is in no line that is logged', async (_where, ask) => {
    const [ended, logged] = [service.ended.length, service.logged.length]
    for (const text of lines) {
      await (await ask(text)).text()
      service.clock.pass(30_000)
    }
    const told = JSON.stringify([service.ended.slice(ended), service.logged.slice(logged)])
    expect(service.ended.length).toBeGreaterThan(ended)
    expect(told).not.toMatch(/evil/)
  })

  test.each([
    '../../../../etc/passwd',
    '..\\..\\..\\windows\\win.ini',
    '/etc/passwd',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '....//....//etc/passwd',
    'media/../../farebox.db',
    'a.mp4\0.json',
    'file:///etc/passwd',
    'C:\\windows\\win.ini',
    '.',
    '..',
    'CON',
    'x'.repeat(10_000),
  ])('G14: %s leads to no file', async text => {
    const id = encodeURIComponent(text)
    const asked = [
      ...(['GET', 'DELETE'] as const).map(method =>
        service.request(`/downloads/${id}?expires=99999999999999&signature=x`, { method }),
      ),
      ...['/video/retrieve', '/video/complete'].map(path =>
        send(path, JSON.stringify({ model: 'demo-video', queue_id: text })),
      ),
      ...operations
        .filter(({ path }) => path.includes('{'))
        .map(({ path, method }) => send(addressOf(path, id), '{}', { authorization: `Bearer ${admin}` }, method)),
    ]
    for (const response of await Promise.all(asked)) {
      // A name of two dots in `/downloads/..` leads to `/`, whose page is the reference.
      if (response.status === 302) expect(new URL(response.headers.get('location') ?? '').pathname).toBe('/docs')
      else {
        expect(response.status).toBeGreaterThanOrEqual(400)
        expect(response.status).toBeLessThan(500)
      }
      expect(await response.text()).not.toMatch(/root:|SQLite format/)
    }
  })
})

describe('limits', () => {
  const spoofs = (index: number): Record<string, string> => ({
    'x-forwarded-for': `192.0.2.${index}`,
    forwarded: `for=192.0.2.${index}`,
    'x-real-ip': `192.0.2.${index}`,
    'cf-connecting-ip': `192.0.2.${index}`,
    'true-client-ip': `192.0.2.${index}`,
  })

  test('G11: no header makes an unidentified caller count as another one', async () => {
    const fail = (index: number) =>
      service.request('/api/v1/chat/completions', { method: 'POST', headers: spoofs(index), body: '{}' })
    for (let index = 0; index < 21; index++) await fail(index)
    expect((await fail(99)).status).toBe(429)
  })

  test('G11: other keys, and another spelling of a model, are under the same limit', async () => {
    const spellings = ['slim', 'slim:strip_thinking_response=true', 'slim:enable_web_search=off', 'slim:a=b&c=d']
    const answers: number[] = []
    for (let index = 0; index < 40; index++) {
      const model = spellings[index % spellings.length] ?? ''
      answers.push((await send('/chat/completions', chatText(model), spoofs(index))).status)
    }
    expect(answers.filter(status => status === 200)).toHaveLength(20)
    expect(answers.slice(20)).toEqual(Array(20).fill(429))
    expect((await send('/chat/completions', chatText('SLIM'))).status).toBe(404)
  })

  test('G12: of 500 calls at once at a limit of 50 exactly 50 are answered', async () => {
    const answers = await Promise.all(
      Array.from({ length: 500 }, () => send('/chat/completions', chatText('narrow')).then(({ status }) => status)),
    )
    expect(answers.filter(status => status === 200)).toHaveLength(50)
    expect(answers.filter(status => status === 429)).toHaveLength(450)
  })
})
