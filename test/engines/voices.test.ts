import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Voice } from '#contract/operations/audio.ts'
import { wavOf, wavSeconds } from '#engines/audio/recording.ts'
import { ConfigRefused } from '#service/config/config-values.ts'
import { closeSound } from '../service/close-sound.ts'
import { configuredModels } from '../service/config/configured-models.ts'
import { type OpenedService, openService } from '../service/open-service.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { type ComfyDouble, comfyDouble, entryOf } from './comfy/comfy-double.ts'
import { asJson, type Upstream, upstream } from './openai/upstream.ts'

/** §8.3: voices made of recordings, by engines of a configuration, from the upload to what is spoken with them. */
const audio = wavOf({ samples: new Int16Array(24_000 * 6).fill(900), rate: 24_000 })
const inputs = { text: '{{prompt}}', sample: '{{voice}}', pace: '{{speed}}' }

let folder: string
let comfy: ComfyDouble
let other: Upstream
let service: OpenedService
let key: string
beforeAll(async () => {
  folder = temporaryFolder('voices')
  comfy = await comfyDouble({ files: { 'output/said.wav': audio } })
  other = await upstream((response, { url = '' }) => {
    if (url.endsWith('/voices')) return asJson({ id: 'vv_theirs', model: 'inner' })(response)
    response.writeHead(200, { 'content-type': 'audio/wav' }).end(audio)
  })
  await writeFile(join(folder, 'speech.json'), JSON.stringify({ 1: { class_type: 'Speak', inputs } }))
  service = await openService({
    models: () => opened(speech('drawn', [comfyUpstream()]), speech('bought', [bought()])),
  })
  key = await service.key(1)
})
afterAll(async () => {
  await closeSound(service)
  await comfy.close()
  await other.close()
})

const comfyUpstream = () => ({ engine: 'comfyui', baseUrl: comfy.baseUrl, workflow: join(folder, 'speech.json') })
const bought = () => ({ engine: 'service', baseUrl: other.baseUrl, model: 'inner' })
const speech = (id: string, upstreams: readonly object[]) => ({
  ...{ id, type: 'tts', voices: ['anna.wav'], formats: ['wav'], price: { perMillionCharactersUsd: 10 } },
  ...{ voiceCloning: { minimumSampleSeconds: 2 }, upstreams },
})

function opened(...models: readonly object[]) {
  const text = JSON.stringify({ publicUrl: 'http://127.0.0.1:8402', models })
  return configuredModels(text, { folder })
}

async function voiceOf(model: string): Promise<string> {
  const body = new FormData()
  body.set('model', model)
  body.set('file', new File([new Uint8Array(audio)], 'me.wav'))
  const init = { method: 'POST', headers: { authorization: `Bearer ${key}` }, body }
  const response = await service.request('/api/v1/audio/voices', init)
  expect(response.status).toBe(200)
  return Voice.parse(await response.json()).id
}

const say = (model: string, more: object) =>
  service.post('/audio/speech', { model, input: 'hello', response_format: 'wav', ...more }, key)

/** What the workflow is given, and the sound that its caller gets. */
async function drawn(more: object) {
  const submitted = comfy.submitted()
  const said = say('drawn', more)
  const { id, workflow } = await submitted
  comfy.finish(id, entryOf([{ filename: 'said.wav', subfolder: '', type: 'output' }]))
  const response = await said
  expect([response.status, Buffer.from(await response.arrayBuffer())]).toEqual([200, audio])
  return (workflow as { 1: { inputs: object } })[1].inputs
}

test('§8.1 a workflow speaks with a voice of its model', async () => {
  expect(await drawn({ speed: 1.5 })).toEqual({ text: 'hello', sample: 'anna.wav', pace: 1.5 })
})

test('§8.3 a workflow speaks with the recording that a voice was made of', async () => {
  const voice = await voiceOf('drawn')
  const { body } = comfy.seen.findLast(({ path }) => path === '/upload/image') ?? {}
  // As it was measured, whatever it came in.
  const given = Buffer.from(await (body as { image: File }).image.arrayBuffer())
  expect(wavSeconds(given)).toBeCloseTo(6, 1)
  expect(await drawn({ voice })).toMatchObject({ sample: expect.stringMatching(/^in\/stored-\d+\.png$/) })
})

test('§8.3 another service makes the voice, and speaks with it', async () => {
  const voice = await voiceOf('bought')
  expect(other.seen.at(-1)?.body).toMatchObject({ model: 'inner' })
  expect((await say('bought', { voice })).status).toBe(200)
  expect(other.seen.at(-1)?.body).toMatchObject({ model: 'inner', voice: 'vv_theirs', input: 'hello' })
})

test('§8.3 a voice is its model’s alone', async () => {
  expect((await say('bought', { voice: await voiceOf('drawn') })).status).toBe(400)
})

test.each([
  ['an engine that makes none', () => speech('one', [{ engine: 'openai', baseUrl: other.baseUrl }])],
  ['two upstreams, of which one would not know it', () => speech('one', [comfyUpstream(), bought()])],
])('§8.3 voices of recordings by %s are refused in the configuration', (_what, model) => {
  const told = () => {
    try {
      return opened(model())
    } catch (error) {
      return error instanceof ConfigRefused ? error.faults.map(({ sentence }) => sentence).join() : error
    }
  }
  expect(told()).toContain('cannot create voices from recordings')
})
