import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConfigRefused } from '#service/config/config-values.ts'
import { KeptEngines } from '#service/config/define-kind.ts'
import { closeSound } from '../../service/close-sound.ts'
import { configuredModels } from '../../service/config/configured-models.ts'
import { type OpenedService, openService } from '../../service/open-service.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { type ComfyDouble, comfyDouble, entryOf } from './comfy-double.ts'

/** Music by a workflow, from farebox.yaml to the file that a caller gets. */
const places = {
  tags: '{{prompt}}',
  lyrics: '{{lyrics|[instrumental]}}',
  seconds: '{{seconds}}',
  seed: '{{seed}}',
  silent: '{{instrumental}}',
  singer: '{{voice|none}}',
}
const mp3 = Buffer.concat([Buffer.from('ID3'), Buffer.alloc(64)])
const flac = Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(64)])

let folder: string
let server: ComfyDouble
let service: OpenedService
let key: string
const kept = new KeptEngines()
beforeEach(async () => {
  folder = temporaryFolder('music')
  server = await comfyDouble({
    files: {
      'output/song.mp3': mp3,
      'output/song.flac': flac,
      'output/song.png': Buffer.from('89504e470d0a1a0a', 'hex'),
    },
  })
  service = await openService({ models: () => modelsWith(places) })
  key = await service.key(1)
})
afterEach(async () => {
  await closeSound(service)
  await kept.close()
  await server.close()
})

const music = {
  ...{ id: 'band', type: 'music', durations: { default: 8, least: 5, most: 30 }, formats: ['mp3', 'flac'] },
  ...{ lyrics: { characters: 500, areRequired: false }, hasInstrumental: true, voices: ['anna', 'bert'] },
  price: { per: 'second', usd: 0.002 },
}

function modelsWith(inputs: Record<string, string>, change: object = {}) {
  const workflow = { 1: { class_type: 'Compose', inputs } }
  const path = join(folder, 'workflow.json')
  writeFileSync(path, JSON.stringify(workflow))
  const upstreams = [{ engine: 'comfyui', baseUrl: server.baseUrl, workflow: path, name: 'studio' }]
  const text = JSON.stringify({ publicUrl: 'http://127.0.0.1:8402', models: [{ ...music, ...change, upstreams }] })
  return configuredModels(text, { folder, keep: (name, make) => kept.keep(name, make) })
}

const ask = (path: string, body: object) => service.post(`/audio/${path}`, { model: 'band', ...body }, key)

interface Made {
  inputs: Record<string, unknown>
  response: Response
}

/** A job that the server ends with this file, and what its caller gets. */
async function made(body: object, filename: string): Promise<Made> {
  const submitted = server.submitted()
  const queued = await ask('queue', body)
  expect(queued.status).toBe(200)
  const { queue_id } = (await queued.json()) as { queue_id: string }
  const { workflow } = await submitted
  server.finish(queue_id, entryOf([{ filename, subfolder: '', type: 'output' }]))
  const response = await vi.waitFor(
    async () => {
      const asked = await ask('retrieve', { queue_id })
      service.clock.pass(1_000)
      if (asked.status === 200 && asked.headers.get('content-type')?.startsWith('application/json'))
        throw new Error('Not yet.')
      return asked
    },
    { timeout: 20_000, interval: 50 },
  )
  return { inputs: (workflow as { 1: { inputs: Record<string, unknown> } })[1].inputs, response }
}

test.each([
  ['MP3', 'song.mp3', mp3, 'audio/mpeg'],
  ['FLAC', 'song.flac', flac, 'audio/flac'],
])('§8.4 %s of a workflow is what its caller gets, made of what was asked', async (_name, filename, bytes, type) => {
  const { inputs, response } = await made(
    { prompt: 'a slow waltz', lyrics_prompt: 'la la', duration_seconds: 10, voice: 'bert' },
    filename,
  )
  expect(inputs).toEqual({
    ...{ tags: 'a slow waltz', lyrics: 'la la', seconds: 10, silent: false, singer: 'bert' },
    seed: expect.any(Number),
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
  expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes)
})

test('§8.4 an instrumental has no words, and the default length and voice', async () => {
  const { inputs } = await made(
    { prompt: 'a slow waltz', lyrics_prompt: 'la la', force_instrumental: true },
    'song.mp3',
  )
  expect(inputs).toMatchObject({ lyrics: '[instrumental]', seconds: 8, silent: true, singer: 'anna' })
})

test('§8.4 a workflow that saves an image is a failure, and refunded', async () => {
  const { response } = await made({ prompt: 'a slow waltz' }, 'song.png')
  expect(response.status).toBe(500)
  const refunds = await service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'REFUND').execute()
  expect(refunds.map(({ amount }) => amount)).toEqual([16_000n])
})

test.each([
  ['lyrics without a place', { ...places, lyrics: '' }, {}, 'band offers lyrics_prompt'],
  ['a speed without a place', places, { speed: { least: 0.5, most: 2, default: 1 } }, 'band offers speed'],
  ['written lyrics', places, { hasLyricsOptimizer: true }, 'band offers lyrics_optimizer'],
  ['a place that a request may leave empty', { ...places, lyrics: '{{lyrics}}' }, {}, 'write {{lyrics|a default}}'],
])('%s is told when the file is read', (_what, inputs, change, says) => {
  const told = () => {
    try {
      return modelsWith(inputs, change)
    } catch (error) {
      return error instanceof ConfigRefused ? error.faults.map(({ sentence }) => sentence).join() : error
    }
  }
  expect(told()).toContain(says)
})
