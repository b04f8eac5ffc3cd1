import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { wavOf } from '#engines/audio/recording.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { configuredModels } from './config/configured-models.ts'
import { colouredPng } from './image-models.ts'
import { type OpenedService, openService } from './open-service.ts'

/** A choice that an engine would drop is refused before money is held, and quoted no price either. */
let service: OpenedService
let key: string
let folder: string
const baseUrl = 'http://127.0.0.1:9/v1'
const png = `data:image/png;base64,${(await colouredPng(64, 64)).toString('base64')}`

const clip = { type: 'video', durations: ['4s', '8s'], price: { perSecondUsd: { all: 0.01 } } }
const inputs = { text: '{{prompt}}', width: '{{width}}', height: '{{height}}', first: '{{reference_image|none}}' }
const modelsFor = (workflow: string) => [
  { id: 'clip', ...clip, upstreams: [{ engine: 'openai', baseUrl }] },
  {
    id: 'both',
    ...clip,
    upstreams: [
      { engine: 'service', baseUrl },
      { engine: 'openai', baseUrl },
    ],
  },
  { id: 'whole', ...clip, upstreams: [{ engine: 'service', baseUrl }] },
  {
    ...{ id: 'guided', ...clip, durations: ['4s'], media: ['reference_image_urls'] },
    upstreams: [{ engine: 'comfyui', baseUrl, workflow }],
  },
  { id: 'loud', ...clip, audio: true, upstreams: [{ engine: 'service', baseUrl }] },
  { id: 'drawn', type: 'image', price: { perImageUsd: 0.01 }, upstreams: [{ engine: 'comfyui', baseUrl, workflow }] },
  {
    ...{ id: 'voice', type: 'tts', voices: ['slt'], price: { perMillionCharactersUsd: 1 } },
    upstreams: [{ engine: 'local' }],
  },
  { id: 'ear', type: 'asr', price: { perSecondUsd: 0.001 }, upstreams: [{ engine: 'local' }] },
]

beforeAll(async () => {
  folder = temporaryFolder('carried')
  const workflow = join(folder, 'workflow.json')
  await writeFile(workflow, JSON.stringify({ 1: { class_type: 'Draw', inputs } }))
  const text = JSON.stringify({ publicUrl: 'http://127.0.0.1:8402', models: modelsFor(workflow) })
  const models = configuredModels(text, { folder })
  service = await openService({ models: () => models })
  key = await service.key(5)
})
afterAll(() => service.close())

const video = { prompt: 'a boat', duration: '4s' }
const said = { prompt: 'a boat', width: 64, height: 64 }

/** Of each refusal the field that it names. */
const refused: [what: string, path: string, body: object, field: string][] = [
  ['a negative prompt', '/video/queue', { model: 'clip', ...video, negative_prompt: 'people' }, 'negative_prompt'],
  [
    'one that an upstream of two drops',
    '/video/queue',
    { model: 'both', ...video, negative_prompt: 'x' },
    'negative_prompt',
  ],
  ['an end frame', '/video/queue', { model: 'clip', ...video, end_image_url: png }, 'end_image_url'],
  ['an element', '/video/queue', { model: 'clip', ...video, elements: [{ frontal_image_url: png }] }, 'elements'],
  ['scenes', '/video/queue', { model: 'clip', ...video, scene_image_urls: [png] }, 'scene_image_urls'],
  ['no sound, of what always has some', '/video/queue', { model: 'loud', ...video, audio: false }, 'audio'],
  [
    'two references, where there is a place for one',
    '/video/queue',
    { model: 'guided', ...video, reference_image_urls: [png, png] },
    'reference_image_urls',
  ],
  ['a strength of the prompt', '/image/generate', { model: 'drawn', ...said, cfg_scale: 3 }, 'cfg_scale'],
  ['four images of a workflow that makes one', '/image/generate', { model: 'drawn', ...said, variants: 4 }, 'variants'],
  ['German', '/audio/speech', { model: 'voice', input: 'hallo', language: 'de' }, 'language'],
]

async function answered(path: string, body: object) {
  const response = await service.post(path, body, key)
  const { issues = [], ...told } = (await response.json()) as { issues?: { path: string[]; message: string }[] }
  return { status: response.status, issue: issues[0], told }
}

const moved = async () => {
  const { read } = service.store
  const [holds, entries] = await Promise.all([
    read.selectFrom('hold').selectAll().execute(),
    read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute(),
  ])
  return holds.length + entries.length
}

test.each(refused)('%s is refused with its field and model, and nothing is held', async (_what, path, body, field) => {
  const before = await moved()
  const { status, issue } = await answered(path, body)
  expect([status, issue?.path[0], issue?.message]).toEqual([
    400,
    field,
    expect.stringContaining((body as { model: string }).model),
  ])
  expect(await moved()).toBe(before)
})

test.each(refused.filter(([, path]) => path === '/video/queue'))(
  '%s is quoted no price',
  async (_what, _path, body, field) => {
    const { prompt: _none, ...quoted } = body as { prompt: string }
    const { status, issue } = await answered('/video/quote', quoted)
    expect([status, issue?.path[0]]).toEqual([400, field])
  },
)

test('a language of a recording that nothing here hears is refused before it is read', async () => {
  const form = new FormData()
  form.set('model', 'ear')
  form.set('language', 'de')
  form.set('file', new File([new Uint8Array(wavOf({ samples: new Int16Array(800), rate: 8_000 }))], 'a.wav'))
  const init = { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: form }
  const response = await service.request('/api/v1/audio/transcriptions', init)
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining('ear cannot use \\"de\\" as language'),
  ])
})

test.each([
  ['the default of the sound', { model: 'clip', ...video, audio: true }],
  ['nothing, said in words', { model: 'clip', ...video, negative_prompt: '', reference_image_urls: [], elements: [] }],
  ['no sound, of what has none', { model: 'clip', ...video, audio: false }],
  ['what the engine carries', { model: 'whole', ...video, negative_prompt: 'people' }],
])('%s is no reason to refuse', async (_what, body) => {
  expect((await answered('/video/queue', body)).status).toBe(200)
  expect((await answered('/video/quote', body)).status).toBe(200)
})

test('every field of a video request is carried by all engines or a choice that each declares', () => {
  const carriedByAll = ['model', 'consents']
  const choices = [
    ...['prompt', 'negative_prompt', 'duration', 'aspect_ratio', 'resolution', 'upscale_factor', 'audio', 'image_url'],
    ...['end_image_url', 'audio_url', 'video_url', 'reference_image_urls', 'reference_video_urls'],
    ...['reference_audio_urls', 'elements', 'scene_image_urls'],
  ]
  expect(Object.keys(VideoQueueRequest.shape).sort()).toEqual([...carriedByAll, ...choices].sort())
})
