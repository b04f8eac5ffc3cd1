import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { UnreadCalls } from '#access/limits/concurrency.ts'
import { unreadCalls } from '#access/limits/limit-rules.ts'
import { wavOf } from '#engines/audio/recording.ts'
import { audit } from '#ledger/audit/audit.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { openFixture } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'
import { colouredPng } from './image-models.ts'
import { type OpenedService, openService, TestClock } from './open-service.ts'
import { ScriptedWeb } from './scripted-web.ts'

/** Between each engine and its answer: a test waits until one was asked, lets its caller leave, and then lets it answer. */
class Gate {
  asked = Promise.withResolvers<void>()
  answered = Promise.withResolvers<void>()
  signals: AbortSignal[] = []

  reset(): void {
    this.asked = Promise.withResolvers()
    this.answered = Promise.withResolvers()
    this.signals = []
  }

  behind<Engine extends object>(engine: Engine): Engine {
    return new Proxy(engine, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name, target)
        if (typeof method !== 'function' || !gated.has(String(name))) return method
        return async (call: { signal: AbortSignal }) => {
          this.signals.push(call.signal)
          this.asked.resolve()
          await this.answered.promise
          return Reflect.apply(method, target, [call])
        }
      },
    })
  }
}

const gated: ReadonlySet<string> = new Set([
  ...['complete', 'embed', 'generate', 'edit', 'upscale', 'removeBackground', 'speak', 'transcribe', 'search', 'read'],
  'ask',
])

const gate = new Gate()
const web = new ScriptedWeb()
let service: OpenedService
let png = ''
let wav = ''
beforeAll(async () => {
  png = (await colouredPng(20, 10)).toString('base64')
  wav = wavOf({ samples: new Int16Array(8_000), rate: 8_000 }).toString('base64')
  service = await openService({
    models: engines =>
      demoModels(engines).map(model => ({ ...model, engine: gate.behind(model.engine) }) as typeof model),
    search: gate.behind(web),
    pages: gate.behind(web),
    networks: [{ slug: 'test-chain', node: gate.behind({ ask: async () => [{ result: '0x1' }] }) }],
    transcriber: gate.behind({ transcribe: async () => ({ transcript: 'Hello there.' }) }),
    fetcher: {
      fetch: async ({ url }) => ({
        url,
        mimeType: 'video/mp4',
        charset: null,
        bytes: Buffer.from('\0\0\0\x18ftypisom'),
      }),
    },
  })
})
afterEach(async () => {
  expect((await audit(service.database)).findings).toEqual([])
  gate.reset()
})
afterAll(() => service.close())

function form(fields: Record<string, string | Blob>): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  return data
}

const fileOf = (base64: string, type: string) => new Blob([Buffer.from(base64, 'base64')], { type })
const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'hello' }] }

test.each<[path: string, body: () => object]>([
  ['/chat/completions', () => chat],
  ['/responses', () => ({ model: 'demo-chat', input: 'hello' })],
  ['/embeddings', () => ({ model: 'demo-embedding', input: 'hello' })],
  ['/image/generate', () => ({ model: 'demo-image', prompt: 'a hill' })],
  ['/images/generations', () => ({ model: 'demo-image', prompt: 'a hill' })],
  ['/image/edit', () => ({ modelId: 'demo-edit', prompt: 'a hill', image: png })],
  ['/image/upscale', () => ({ model: 'demo-upscale', image: png, scale: 2 })],
  ['/image/background-remove', () => ({ model: 'demo-background', image: png })],
  ['/audio/speech', () => ({ model: 'demo-speech', input: 'Hello.' })],
  ['/audio/speech', () => ({ model: 'demo-speech', input: 'Hello. And again.', streaming: true })],
  ['/audio/transcriptions', () => form({ model: 'demo-asr', file: fileOf(wav, 'audio/wav') })],
  ['/augment/search', () => ({ query: 'fares' })],
  ['/augment/scrape', () => ({ url: 'https://example.com/fares' })],
  ['/video/transcriptions', () => ({ url: 'https://files.example/a.mp4' })],
  ['/crypto/rpc/test-chain', () => ({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })],
])('whose caller leaves while its engine works is completed and charged: %s', async (path, body) => {
  service.clock.pass(60_000)
  const key = await service.key(5)
  const client = new AbortController()
  const asked = body()
  const isForm = asked instanceof FormData
  const answer = service.request(`/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(isForm ? {} : { 'content-type': 'application/json' }) },
    body: isForm ? asked : JSON.stringify(asked),
    signal: client.signal,
  })
  const outcome = answer.then(({ status }) => status).catch(() => 'no answer')
  expect(await Promise.race([gate.asked.promise.then(() => 'asked'), outcome])).toBe('asked')
  client.abort()
  expect(gate.signals.map(signal => signal.aborted)).toEqual([false])
  expect(await holds()).toBe(1)
  gate.answered.resolve()
  await outcome
  await expect.poll(holds).toBe(0)
  expect(await charged(key)).toBeGreaterThan(0)
})

test('a call whose caller leaves before its engine was asked costs nothing', async () => {
  const key = await service.key(5)
  const client = new AbortController()
  client.abort()
  await service
    .request('/api/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chat),
      signal: client.signal,
    })
    .catch(() => null)
  await expect.poll(holds).toBe(0)
  expect([gate.signals.length, await charged(key)]).toEqual([0, 0])
})

const holds = async () => (await service.store.read.selectFrom('hold').select('id').execute()).length

async function charged(key: string): Promise<number> {
  const limits = await service.request('/api/v1/api_keys/rate_limits', { headers: { authorization: `Bearer ${key}` } })
  const { data } = (await limits.json()) as { data: { balances: { USD: number } } }
  return 5 - data.balances.USD
}

test('an account that left too many calls begins none until some have ended, and others do', async () => {
  const fixture = await openFixture()
  try {
    const answered = Promise.withResolvers<void>()
    fixture.engine.play([{ until: answered.promise }, ...words('one'), { usage: used(20, 1) }])
    const [customer, other] = [await fixture.customer(10), await fixture.customer(10)]
    const client = new AbortController()
    const send = (init: RequestInit = {}) => fixture.chat(customer, { max_tokens: 1 }, init)
    const calls = Array.from({ length: unreadCalls.perAccount }, () =>
      send({ signal: client.signal }).catch(() => null),
    )
    await expect.poll(() => fixture.engine.calls.length).toBe(unreadCalls.perAccount)
    client.abort()
    const refused = await send()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    expect(await refused.json()).toMatchObject({ code: 'TOO_MANY_UNREAD_CALLS' })
    const others = fixture.chat(other, { max_tokens: 1 })
    answered.resolve()
    expect((await others).status).toBe(200)
    await Promise.all(calls)
    await expect.poll(() => fixture.openHolds()).toBe(0)
    fixture.service.clock.pass(60_000)
    expect((await send()).status).toBe(200)
    const { charged } = await fixture.ledger(customer.account)
    expect(charged).toBe(30n * BigInt(unreadCalls.perAccount + 1))
  } finally {
    await fixture.service.close()
  }
})

test('a process that is full of them refuses the accounts that fill it', () => {
  const unread = new UnreadCalls(new TestClock(), { perAccount: 2, perProcess: 2 })
  const over = unread.enter('one')
  unread.admit('one')
  unread.enter('two')
  expect(() => unread.admit('one')).toThrow()
  unread.admit('three')
  over()
  over()
  expect(unread.size).toBe(1)
  unread.admit('one')
})
