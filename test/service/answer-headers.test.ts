import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiVersion } from '#contract/wire/base-url.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model, TextModel } from '#service/models/model.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { type OpenedService, openService, TestClock } from './open-service.ts'

const clock = new TestClock(Date.parse('2026-11-21T09:00:00Z'))

const isText = (model: Model): model is TextModel => model.type === 'text'

/** Beside the demonstrations: models that are deprecated, each in its own way. */
function models(engines: Parameters<typeof demoModels>[0]): Model[] {
  const demo = demoModels(engines)
  const text = demo.find(isText)
  if (!text) throw new Error('There is no text model.')
  const old = (id: string, deprecation: Model['deprecation']): Model => ({ ...text, id, traits: [], deprecation })
  const until = (removesAt: string) => ({ date: removesAt, removesAt })
  return [
    ...demo,
    old('ending', { autoRemap: true, ...until('2027-01-31'), replacementModelId: 'demo-chat' }),
    old('announced', { autoRemap: false, ...until('2027-01-31'), startsAt: '2027-01-01' }),
    {
      ...old('replaced', { autoRemap: true, ...until('2026-11-01'), replacementModelId: 'demo-chat' }),
      traits: ['former'],
    },
    old('gone', { autoRemap: false, ...until('2026-11-01') }),
  ]
}

let service: OpenedService
let key: string
let folder: string
beforeAll(async () => {
  folder = temporaryFolder('headers')
  service = await openService({ models, clock, folder })
  key = await service.key(5)
})
afterAll(() => service.close())

interface Asked {
  path: string
  body?: object
  headers?: Record<string, string>
  /** Without a credential. */
  isStranger?: boolean
}

const ask = ({ path, body, headers = {}, isStranger = false }: Asked) =>
  service.request(`/api/v1${path}`, {
    ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    headers: {
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(isStranger ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
  })

const models200: Asked = { path: '/models' }
const chat = (model = 'demo-chat', more: object = {}): Asked => ({
  path: '/chat/completions',
  body: { model, messages: [{ role: 'user', content: 'hi' }], ...more },
})
const image: Asked = {
  path: '/image/generate',
  body: { model: 'demo-image', prompt: 'a boat', width: 64, height: 64 },
}
const missing: Asked = { path: '/nothing' }
const encoded = (name: string): Asked => ({ ...models200, headers: { 'accept-encoding': name } })

const any = /./
const number = /^\d+$/
const money = /^\d+\.\d{6}$/

/** Every header of brief §9 that this service has a reason to send; null: not where its condition does not hold. */
const rows: [header: string, when: string, asked: Asked, value: RegExp | string | null][] = [
  ['content-type', 'always', models200, 'application/json'],
  ['content-type', 'on a refusal', missing, 'application/json'],
  ['content-encoding', 'asked for gzip', encoded('gzip'), 'gzip'],
  ['content-encoding', 'asked for br', encoded('gzip, br'), 'br'],
  ['content-encoding', 'refused by a quality of 0', encoded('br;q=0, gzip;q=0.0'), null],
  ['content-encoding', 'not asked for', models200, null],
  [
    'content-encoding',
    'a stream, whose events must not wait',
    { ...chat('demo-chat', { stream: true }), headers: { 'accept-encoding': 'br' } },
    null,
  ],
  ['cf-ray', 'always', models200, /^[0-9a-f-]{36}$/],
  ['cf-ray', 'on a refusal', missing, /^[0-9a-f-]{36}$/],
  ['x-service-version', 'always', models200, apiVersion],
  ['x-service-version', 'on a refusal', missing, apiVersion],
  ['x-service-timestamp', 'always', models200, '2026-11-21T09:00:00.000Z'],
  ['x-service-host-name', 'on a refusal', missing, 'test-host'],
  ['x-service-host-name', 'on a success', models200, null],
  ['x-service-model-id', 'inference', chat('default'), 'demo-chat'],
  ['x-service-model-name', 'inference', chat(), 'Demo chat'],
  ['x-service-model-router', 'inference', chat(), 'demo'],
  ['x-service-model-id', 'no inference', models200, null],
  [
    'x-service-model-deprecation-warning',
    'a deprecated model',
    chat('ending'),
    'ending is deprecated and will be removed on 2027-01-31. Use demo-chat instead.',
  ],
  ['x-service-model-deprecation-date', 'a deprecated model', chat('ending'), '2027-01-31'],
  ['x-service-deprecated', 'a deprecated model', chat('ending'), 'true'],
  ['x-service-deprecated-replacement', 'a deprecated model', chat('ending'), 'demo-chat'],
  [
    'x-service-deprecated',
    'a deprecated model with options in its name',
    chat('ending:strip_thinking_response=true'),
    'true',
  ],
  ['x-service-deprecated', 'before it is announced', chat('announced'), null],
  ['x-service-deprecated', 'any other model', chat(), null],
  [
    'x-service-model-deprecation-warning',
    'a removed model',
    chat('replaced'),
    'replaced was removed. Use demo-chat instead.',
  ],
  ['x-service-model-id', 'a removed model', chat('replaced'), 'demo-chat'],
  ['x-service-model-id', 'a trait of a removed model', chat('former'), 'demo-chat'],
  ['x-ratelimit-limit-requests', 'authenticated', chat(), number],
  ['x-ratelimit-remaining-requests', 'authenticated', chat(), number],
  ['x-ratelimit-reset-requests', 'authenticated', chat(), number],
  ['x-ratelimit-limit-tokens', 'authenticated, text', chat(), number],
  ['x-ratelimit-remaining-tokens', 'authenticated, text', chat(), number],
  ['x-ratelimit-reset-tokens', 'authenticated, text', chat(), number],
  ['x-ratelimit-limit-requests', 'a stranger', { ...models200, isStranger: true }, null],
  ['x-service-balance-usd', 'authenticated', chat(), money],
  ['x-service-balance-usd', 'a stranger', { ...models200, isStranger: true }, null],
  ['x-service-is-blurred', 'an image that nobody looked at', image, null],
  ['x-service-is-content-violation', 'an image that nobody looked at', image, null],
  [
    'x-service-request-timestamp-ms',
    'given',
    { ...models200, headers: { 'x-service-request-timestamp-ms': '1763715600000' } },
    '1763715600000',
  ],
  [
    'x-service-request-timestamp-ms',
    'given as what is none',
    { ...models200, headers: { 'x-service-request-timestamp-ms': 'now' } },
    null,
  ],
  ['x-service-request-timestamp-ms', 'not given', models200, null],
  ['x-retry-count', 'no upstream failed', chat(), null],
  ['vary', 'always', models200, any],
  ['cache-control', 'always', models200, 'no-store'],
]

test.each(rows)('§9 %s: %s', async (header, _, asked, value) => {
  const response = await ask(asked)
  const given = response.headers.get(header)
  if (value instanceof RegExp) expect(given).toMatch(value)
  else expect(given).toBe(value)
  await response.arrayBuffer()
})

test.each([
  ['gzip', gunzipSync],
  ['br', brotliDecompressSync],
] as const)('what is sent as %s is what is sent plainly', async (name, decompressed) => {
  const [plain, packed] = [await ask(models200), await ask(encoded(name))]
  expect(decompressed(Buffer.from(await packed.arrayBuffer())).toString()).toBe(await plain.text())
})

describe('a model that was removed', () => {
  test('is answered and charged by its replacement', async () => {
    const response = await ask(chat('replaced'))
    expect([response.status, ((await response.json()) as { model: string }).model]).toEqual([200, 'demo-chat'])
  })

  test('without a replacement is a 410, and nothing is charged', async () => {
    const response = await ask(chat('gone'))
    expect([response.status, await response.text()]).toEqual([410, expect.stringContaining('Choose another')])
    const entries = await service.store.read.selectFrom('entry').select('id').where('model', '=', 'gone').execute()
    expect(entries).toEqual([])
  })

  test('is not listed, and its traits are those of its replacement', async () => {
    const { data } = (await (await ask(models200)).json()) as { data: { id: string }[] }
    const ids = data.map(({ id }) => id)
    expect(['ending', 'announced', 'replaced', 'gone'].map(id => ids.includes(id))).toEqual([true, true, false, false])
    const traits = (await (await ask({ path: '/models/traits' })).json()) as { data: object }
    expect(traits.data).toMatchObject({ default: 'demo-chat', former: 'demo-chat' })
  })
})
