import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SpeechFormat } from '#contract/operations/audio.ts'
import { systemClock } from '#contract/time.ts'
import { wavHeader } from '#engines/audio/recording.ts'
import type { SpeechEngine } from '#engines/ports/media-engines.ts'
import { pooledSpeech } from '#engines/upstreams/pooled-engines.ts'
import { UpstreamPool } from '#engines/upstreams/upstream-pool.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model, SpeechModel } from '#service/models/model.ts'
import { type OpenedService, openService } from './open-service.ts'

/** Says in which format it was asked; one that knows its formats fails at any other, as one without ffmpeg does. */
const speaking = (formats?: readonly SpeechFormat[]): SpeechEngine => ({
  carries: () => true,
  async speak({ request: { format } }) {
    if (formats && !formats.includes(format)) throw new Error(`No ${format} is made here.`)
    return Buffer.from(format)
  },
  ...(formats ? { formats: async () => formats } : {}),
})

const pooled = (...engines: SpeechEngine[]): SpeechEngine =>
  pooledSpeech(
    new UpstreamPool({
      upstreams: engines.map((engine, index) => ({
        ...{ name: `upstream-${index}`, engine, engineModel: 'inner', weight: 1, concurrency: 1 },
      })),
      queue: { length: 0, waitMs: 1 },
      clock: systemClock,
    }),
  )

/** What a server that ignores the format returns. */
let sound: Buffer = Buffer.alloc(0)
const unasked: SpeechEngine = { carries: () => true, speak: async () => sound }

const models = (demo: readonly Model[]): Model[] => {
  const tts = demo.find((each): each is SpeechModel => each.type === 'tts')
  if (!tts) throw new Error('There is no model of speech.')
  const sold = (id: string, engine: SpeechEngine): SpeechModel => ({ ...tts, traits: [], id, engine })
  return [
    ...demo,
    sold('few', pooled(speaking(['wav', 'pcm']))),
    sold('mixed', pooled(speaking(), speaking(['opus', 'wav']), speaking(['wav', 'opus', 'flac']))),
    sold('all', pooled(speaking(), speaking())),
    sold('unasked', unasked),
  ]
}

let service: OpenedService
let key: string
beforeAll(async () => {
  service = await openService({ models: engines => models(demoModels(engines)) })
  key = await service.key(1)
})
afterAll(() => service.close())

const say = (model: string, more: object = {}) =>
  service.request('/api/v1/audio/speech', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: 'Hello.', ...more }),
  })

test.each([
  ['few', 'mp3 cannot be made, so the first that can be is', 'audio/wav'],
  ['mixed', 'the first that every upstream makes', 'audio/opus'],
  ['all', 'upstreams that say nothing of it make all', 'audio/mpeg'],
])('§8.1 %s answers a request without a format: %s', async (model, _, type) => {
  const response = await say(model)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
})

test.each([
  ['few', 'mp3', 'wav, pcm'],
  ['mixed', 'flac', 'opus, wav'],
])('§8.1 %s refuses %s, and names what every upstream makes', async (model, response_format, allowed) => {
  const response = await say(model, { response_format })
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining(`${response_format} here; allowed values: ${allowed}`),
  ])
})

test.each([
  ['mp3', wavHeader(24_000), 500],
  ['pcm', wavHeader(24_000), 500],
  ['wav', Buffer.from('ID3, and more'), 500],
  ['wav', wavHeader(24_000), 200],
  ['pcm', Buffer.from([0xff, 0xff, 0xfe, 0xff]), 200],
] as const)('sound of another format than %s is not sold: %o', async (response_format, made, status) => {
  const charges = () => service.store.read.selectFrom('entry').select('id').where('kind', '=', 'CHARGE').execute()
  const before = (await charges()).length
  sound = made
  const response = await say('unasked', { response_format })
  await response.arrayBuffer()
  expect([response.status, (await charges()).length - before]).toEqual([status, status === 200 ? 1 : 0])
})
