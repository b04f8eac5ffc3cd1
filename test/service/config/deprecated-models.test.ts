import { afterAll, beforeAll, expect, test } from 'vitest'
import { modelTypes } from '#contract/operations/models.ts'
import { wavOf } from '#engines/audio/recording.ts'
import { encodePng } from '#engines/images/png.ts'
import { KeptEngines } from '#service/config/define-kind.ts'
import { readConfig } from '#service/config/read-config.ts'
import type { Model } from '#service/models/model.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { type OpenedService, openService, TestClock } from '../open-service.ts'

/** A deprecation in farebox.yaml, on a model of every type, from the file to the headers of an answer. */
type ModelType = (typeof modelTypes)[number]

const rgb = Buffer.alloc(64 * 64 * 3, 90)
const png = (await encodePng({ width: 64, height: 64, rgb })).toString('base64')
const wav = wavOf({ samples: new Int16Array(8_000), rate: 8_000 })
const named = { model: 'old' }

interface Row {
  /** What a model of this type is told beyond its id. */
  config: object
  path: string
  body: object | FormData
}

const json = (path: string, config: object, body: object): Row => ({ config, path, body: { ...named, ...body } })

const rows: Record<ModelType, Row> = {
  text: json(
    '/chat/completions',
    { contextTokens: 4_000, price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 } },
    { messages: [{ role: 'user', content: 'hi' }] },
  ),
  embedding: json('/embeddings', { dimensions: 8, price: { inputPerMillionUsd: 1 } }, { input: 'hi' }),
  image: json('/image/generate', { price: { perImageUsd: 0.01 } }, { prompt: 'a boat', width: 64, height: 64 }),
  // By the older name of the member too.
  inpaint: {
    config: { price: { perImageUsd: 0.01 } },
    path: '/image/edit',
    body: { modelId: 'old', image: png, prompt: 'a red sky' },
  },
  upscale: json('/image/upscale', { price: { twiceUsd: 0.01, fourTimesUsd: 0.02 } }, { image: png, scale: 2 }),
  background: json('/image/background-remove', { price: { perImageUsd: 0.01 } }, { image: png }),
  tts: json(
    '/audio/speech',
    { voices: ['demo'], formats: ['wav'], price: { perMillionCharactersUsd: 1 } },
    { input: 'hello', response_format: 'wav' },
  ),
  asr: { config: { price: { perSecondUsd: 0.001 } }, path: '/audio/transcriptions', body: recording() },
  music: json(
    '/audio/queue',
    { durations: { default: 5, least: 5, most: 10 }, formats: ['wav'], price: { per: 'second', usd: 0.001 } },
    { prompt: 'a song of the sea' },
  ),
  video: json(
    '/video/queue',
    { durations: ['2s'], price: { perSecondUsd: { all: 0.01 } } },
    { prompt: 'a boat', duration: '2s' },
  ),
}

function recording(): FormData {
  const form = new FormData()
  form.set('model', 'old')
  form.set('file', new File([new Uint8Array(wav)], 'a.wav'))
  return form
}

const removesAt = '2027-01-31'

/** `old` is deprecated and has no name of its own; `next` will answer for it. */
const modelsOf = (type: ModelType) => {
  const next = { id: 'next', type, ...rows[type].config, upstreams: [{ engine: 'demo' }] }
  return [{ ...next, id: 'old', deprecation: { removesAt, replacement: 'next' } }, next]
}

let service: OpenedService
let key: string
let folder: string
const kept = new KeptEngines()
beforeAll(async () => {
  folder = temporaryFolder('deprecated')
  service = await openService({ clock: new TestClock(Date.parse('2026-11-21T09:00:00Z')) })
  key = await service.key(5)
})
afterAll(async () => {
  await service.close()
  await kept.close()
})

function opened(type: ModelType): Model[] {
  const text = JSON.stringify({ publicUrl: 'http://127.0.0.1:8402', models: modelsOf(type) })
  const log = { info() {}, warn() {}, error() {} }
  const keep = <Engine>(name: string, make: () => Engine) => kept.keep(name, make)
  return readConfig(text, {}).openModels({ folder, log, keep, drop: name => kept.drop(name) })
}

test.each(modelTypes)('a model of type %s may be deprecated, and its answers say so', async type => {
  service.service.reload({ models: opened(type) })
  const { path, body } = rows[type]
  const isForm = body instanceof FormData
  const response = await service.request(`/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(isForm ? {} : { 'content-type': 'application/json' }) },
    body: isForm ? body : JSON.stringify(body),
  })
  const names = ['model-id', 'model-name', 'model-deprecation-date', 'deprecated', 'deprecated-replacement']
  expect([response.status, ...names.map(name => response.headers.get(`x-service-${name}`))]).toEqual([
    200,
    'old',
    'old',
    removesAt,
    'true',
    'next',
  ])
})
