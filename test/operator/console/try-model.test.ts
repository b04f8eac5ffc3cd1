/** An owner tries one engine: a small probe that no customer pays, a few times a minute, with two rows in the log. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { triesPerMinute } from '#operator/console/service-routes.ts'
import type { ModelRow, ModelTried } from '#pages/console/wire.ts'
import { readConfig } from '#service/config/read-config.ts'
import { asJson, completion, type Upstream, upstream } from '../../engines/openai/upstream.ts'
import { type OpenedConsole, openConsole, type SignedIn } from './opened-console.ts'

const whole = asJson(completion)
let answer: Parameters<typeof upstream>[0]
let server: Upstream
let opened: OpenedConsole
let owner: SignedIn

beforeEach(async () => {
  answer = whole
  server = await upstream((...sent) => answer(...sent))
  opened = await openConsole({
    models: () => {
      const { openModels } = readConfig(
        `publicUrl: http://127.0.0.1:8402
models:
  - id: one
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 10, outputPerMillionUsd: 30 }
    queue: { length: 7, waitMs: 1500 }
    upstreams:
      - { engine: openai, name: near, baseUrl: '${server.baseUrl}', model: inner, weight: 3, concurrency: 4 }
      - { engine: openai, name: gone, baseUrl: 'http://127.0.0.1:9' }
  - id: film
    type: video
    enabled: false
    durations: [4s]
    price: { perSecondUsd: { all: 0.2 } }
    upstreams: [{ engine: demo }]
  - id: drawing
    type: image
    longestSide: 250
    price: { perImageUsd: 0.01 }
    upstreams: [{ engine: demo }]
  - id: voice
    type: tts
    voices: [alto]
    price: { perMillionCharactersUsd: 15 }
    upstreams: [{ engine: demo }]`,
        {},
      )
      const log = { info() {}, warn() {}, error() {} }
      return openModels({ folder: '.', log, keep: (_, make) => make() })
    },
  })
  owner = await opened.signIn()
})
afterEach(async () => {
  await opened.close()
  await server.close()
})

const attempt = (body: object, session = owner) => opened.act('/api/models/try', body, session)
const tried = async (name: string) => (await (await attempt({ model: 'one', upstream: name })).json()) as ModelTried
const acts = () => opened.service.store.read.selectFrom('operator_act').selectAll().orderBy('seq').execute()

test('the page shows prices, the queue, shares and health', async () => {
  const rows = (await (await opened.act('/api/models', {}, owner)).json()) as ModelRow[]
  expect(rows).toMatchObject([
    {
      ...{ model: 'one', isOff: false, queue: { length: 7, waitMs: 1_500 }, isTriable: true },
      prices: [expect.stringMatching(/^10 USD .*input/), expect.stringMatching(/^30 USD .*output/)],
      upstreams: [
        { name: 'near', weight: 3, concurrency: 4, state: 'up' },
        { name: 'gone', weight: 1, state: 'up' },
      ],
    },
    { model: 'film', isOff: true, prices: [expect.stringMatching(/^0\.2 USD per second/)], isTriable: false },
    { model: 'drawing', isTriable: true },
    { model: 'voice', isTriable: true },
  ])
})

test('a probe is small, is charged to no customer, and its outcome and time are logged', async () => {
  expect(await tried('near')).toMatchObject({ outcome: 'works', said: 'It answered.', made: null })
  expect(server.seen.map(({ body }) => [body.model, body.max_tokens])).toEqual([['inner', 16]])
  expect((await acts()).map(row => [row.act, row.actor, row.subject])).toEqual([
    ['model.try', 'console: ada', 'one, near'],
    ['model.try', 'console: ada', 'one, near'],
  ])
  expect(JSON.parse((await acts())[1]?.after_change ?? '')).toEqual({
    ...{ outcome: 'works', word: null, tookMs: expect.any(Number) },
  })
  expect(JSON.stringify(await acts())).not.toContain('Say yes')
  const { read } = opened.service.store
  expect(await read.selectFrom('entry').select('id').execute()).toEqual([])
  expect(await read.selectFrom('hold').selectAll().execute()).toEqual([])
})

test.each([
  ['drawing', /^image\/png$/],
  ['voice', /^audio\/(mpeg|flac|wav)$/],
])('what a trial of %s makes is shown to the owner, and is in no log', async (model, type) => {
  const answered = await attempt({ model, upstream: 'demo-1' })
  const { outcome, made } = (await answered.json()) as ModelTried
  expect([outcome, made?.type]).toEqual(['works', expect.stringMatching(type)])
  const bytes = Buffer.from(made?.base64 ?? '', 'base64')
  // The largest side that the model makes, and can be divided as it wants.
  if (model === 'drawing') expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([248, 248])
  expect(JSON.parse((await acts())[1]?.after_change ?? '')).toMatchObject({ outcome: 'works', bytes: bytes.length })
  const { read } = opened.service.store
  expect(await read.selectFrom('entry').select('id').execute()).toEqual([])
})

test.each([
  ['busy', 429, 'busy'],
  ['wrong model', 404, 'failed'],
  ['broken', 500, 'failed'],
])('an engine that is %s is reported in words, and its own words are not shown', async (_, status, outcome) => {
  answer = asJson({ error: { message: 'a secret of the engine' } }, status)
  const shown = await tried('near')
  expect(shown.outcome).toBe(outcome)
  expect(JSON.stringify([shown, await acts()])).not.toContain('a secret of the engine')
})

test('an unreachable engine is reported, and its health is unchanged', async () => {
  expect((await tried('gone')).outcome).toBe('failed')
  const [{ upstreams } = { upstreams: [] }] = (await (await opened.act('/api/models', {}, owner)).json()) as ModelRow[]
  expect(upstreams.map(({ state, calls, failures }) => [state, calls, failures])).toEqual([
    ['up', 0, 0],
    ['up', 0, 0],
  ])
})

test('O21: probes are for owners, limited for all of them together, and only of engines that have one', async () => {
  for (const [body, status] of [
    [{ model: 'one', upstream: 'nobody' }, 404],
    [{ model: 'none', upstream: 'near' }, 404],
    [{ model: 'film', upstream: 'demo-1' }, 409],
    [{ model: 'one' }, 400],
    [{ model: 'one', upstream: 'near', prompt: 'write a book' }, 400],
  ] as const)
    expect([body, (await attempt(body)).status]).toEqual([body, status])
  const support = await opened.signIn('support')
  expect((await attempt({ model: 'one', upstream: 'near' }, support)).status).toBe(403)
  expect([server.seen.length, (await acts()).length]).toEqual([0, 0])
  const other = await opened.signIn()
  const answers = await Promise.all(
    Array.from({ length: triesPerMinute + 6 }, (_, at) =>
      attempt({ model: 'one', upstream: 'near' }, at % 2 ? owner : other),
    ),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(triesPerMinute)
  expect(server.seen).toHaveLength(triesPerMinute)
  const refused = answers.find(({ status }) => status === 429)
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  opened.service.clock.pass(60_001)
  expect((await attempt({ model: 'one', upstream: 'near' })).status).toBe(200)
})

test('O21: two processes count the probes together', async () => {
  for (let each = 0; each < triesPerMinute - 2; each++) await attempt({ model: 'one', upstream: 'near' })
  const headers = { 'content-type': 'application/json', ...opened.headersOf(owner) }
  const body = JSON.stringify({ model: 'one', upstream: 'near' })
  const consoles = [opened.ask, opened.another(), opened.another(), opened.another()]
  const answers = await Promise.all(
    consoles.map(console => console('/api/models/try', { method: 'POST', body, headers })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429])
  expect(server.seen).toHaveLength(triesPerMinute)
})
