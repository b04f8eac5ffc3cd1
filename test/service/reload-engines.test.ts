import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ChatCall } from '#engines/ports/engine.ts'
import type { JobProgress, VideoEngine } from '#engines/ports/media-engines.ts'
import { ConfigRefused } from '#service/config/config-values.ts'
import { KeptEngines } from '#service/config/define-kind.ts'
import type { Surroundings } from '#service/config/open-models.ts'
import { readConfig } from '#service/config/read-config.ts'
import type { Model, TextModel } from '#service/models/model.ts'
import { asJson, chunk, completion, event, finish, type Upstream, upstream } from '../engines/openai/upstream.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { closeSound } from './close-sound.ts'
import { videoModel } from './models/example-models.ts'
import { type OpenedService, openService } from './open-service.ts'

/** What becomes of engines when a reload replaces their models. */
const silent = { info() {}, warn() {}, error() {} }
let folder: string
let server: Upstream
let letGo: () => void
beforeAll(async () => {
  folder = temporaryFolder('reload')
  // A stream sends its first piece at once, and the rest when it is let; anything else is answered whole.
  server = await upstream(async (response, request) => {
    if (!request.headers.accept?.includes('event-stream')) return asJson(completion)(response)
    const { promise, resolve } = Promise.withResolvers<void>()
    letGo = resolve
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(chunk('first ')))
    await promise
    response.end(`${event(chunk('last'))}${event(finish)}data: [DONE]\n\n`)
  })
})
afterAll(() => server.close())

const clip = { duration: '2s', resolution: '360p', aspect_ratio: '16:9' }
const config = (models: string) => `publicUrl: http://127.0.0.1:8402\nmodels:\n${models}`
const chatModel = (id: string) => `
  - id: ${id}
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 10, outputPerMillionUsd: 10 }
    upstreams: [{ engine: openai, baseUrl: '${server.baseUrl}' }]`
function surroundings(kept = new KeptEngines()): Surroundings {
  return { folder, log: silent, keep: (name, make) => kept.keep(name, make), drop: name => kept.drop(name) }
}

describe('before callers', () => {
  let service: OpenedService
  let key: string
  const ended: string[] = []
  /** One whose end is told. */
  const opened = (id: string, around = surroundings()): Model[] =>
    readConfig(config(chatModel(id)), {})
      .openModels(around)
      .map(model => ({
        ...model,
        close: async () => {
          await model.close?.()
          ended.push(id)
        },
      }))
  beforeAll(async () => {
    service = await openService({ models: () => opened('one') })
    key = await service.key(1)
  })
  beforeEach(() => {
    ended.length = 0
  })
  afterAll(() => closeSound(service))

  const chat = (model: string, more: object = {}) =>
    service.post('/chat/completions', { model, messages: [{ role: 'user', content: 'hi' }], ...more }, key)

  test('a stream of a replaced model runs to its end, and only then is its engine closed', async () => {
    const streamed = await chat('one', { stream: true })
    service.service.reload({ models: opened('two') })
    const other = await chat('two')
    expect([other.status, (await chat('one')).status, ended]).toEqual([200, 404, []])
    letGo()
    expect(await streamed.text()).toContain('last')
    await expect.poll(() => ended).toEqual(['one'])
  })

  test('a model that stays on sale is not closed, and an unused one is closed at once', async () => {
    const [kept, gone] = [opened('kept'), opened('gone')]
    service.service.reload({ models: [...kept, ...gone] })
    service.service.reload({ models: kept })
    await expect.poll(() => ended).toContain('gone')
    expect([(await chat('kept')).status, ended.includes('kept')]).toEqual([200, false])
  })

  test('a reload that contradicts itself ends nothing', async () => {
    const models = opened('whole')
    service.service.reload({ models })
    expect(() => service.service.reload({ models: [...models, ...models] })).toThrow('share an id')
    expect([(await chat('whole')).status, ended.includes('whole')]).toEqual([200, false])
  })

  test('a question after a job is waited for too', async () => {
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<JobProgress>()
    const engine: VideoEngine = {
      carries: () => true,
      start: () => {
        asked.resolve()
        return answered.promise
      },
      poll: () => answered.promise,
    }
    const close = async () => void ended.push('clip')
    service.service.reload({ models: [{ ...videoModel({ id: 'clip', engine }), close }] })
    const queued = await service.post('/video/queue', { model: 'clip', prompt: 'a boat', ...clip }, key)
    expect(queued.status).toBe(200)
    await asked.promise
    service.service.reload({ models: opened('after') })
    expect([(await chat('after')).status, ended.includes('clip')]).toEqual([200, false])
    answered.resolve({ state: 'failed', reason: 'It is enough for a test.' })
    await expect.poll(() => ended).toContain('clip')
  })
})

describe('an engine of a configuration', () => {
  const call = { request: { model: 'one', messages: [] }, engineModel: 'one', maxCompletionTokens: 4 }
  const complete = (model: Model | undefined) =>
    (model as TextModel).engine.complete({ ...call, signal: new AbortController().signal } as ChatCall)

  test('has no connection left when its model is ended', async () => {
    const [model] = readConfig(config(chatModel('one')), {}).openModels(surroundings())
    expect(await complete(model)).toMatchObject({ object: 'chat.completion' })
    await model?.close?.()
    await expect(complete(model)).rejects.toMatchObject({ kind: 'INFERENCE_FAILED' })
  })

  const size = { width: '{{width}}', height: '{{height}}' }
  const drawn = (change: object) => ({ engine: 'comfyui', workflow: 'workflow.json', ...change })
  test.each([
    ['ComfyUI', 'image', drawn({}), drawn({ apiKey: `\${KEY}` })],
    ['ComfyUI with another workflow', 'image', drawn({}), drawn({ workflow: 'other.json' })],
    ['of videos', 'video', { engine: 'openai' }, { engine: 'openai', takesKeys: true }],
    ['of another service’s videos', 'video', { engine: 'service' }, { engine: 'service', apiKey: `\${KEY}` }],
  ])('%s stays the same one over a reload until its options change', async (_name, type, first, changed) => {
    for (const [name, text] of [
      ['workflow', '{{prompt}}'],
      ['other', '{{prompt}}, in colour'],
    ])
      await writeFile(
        join(folder, `${name}.json`),
        JSON.stringify({ 1: { class_type: 'Draw', inputs: { text, ...size } } }),
      )
    const made: unknown[] = []
    const kept = new KeptEngines()
    const keep: Surroundings['keep'] = (name, make) => {
      const engine = kept.keep(name, make)
      if (!name.startsWith('counts')) made.push(engine)
      return engine
    }
    const price = type === 'image' ? { perImageUsd: 0.01 } : { perSecondUsd: { all: 0.01 } }
    for (const upstream of [first, first, changed]) {
      const model = { id: 'one', type, price, ...(type === 'video' ? { durations: ['4s'] } : {}) }
      const workflow = 'workflow' in upstream ? { workflow: join(folder, `${upstream.workflow}`) } : {}
      const upstreams = [{ baseUrl: server.baseUrl, ...upstream, ...workflow }]
      const text = JSON.stringify({ publicUrl: 'http://127.0.0.1:8402', models: [{ ...model, upstreams }] })
      readConfig(text, { KEY: 'key-of-the-engine' }).openModels({ ...surroundings(kept), keep })
    }
    expect([made.length, made[1] === made[0], made[2] === made[0]]).toEqual([3, true, false])
    await kept.close()
  })

  test('is ended by the last model that kept it, and made anew after that', async () => {
    const kept = new KeptEngines()
    const ended: number[] = []
    let count = 0
    const keep = () => kept.keep('weights', () => ({ number: ++count, close: async () => void ended.push(count) }))
    expect([keep().number, keep().number]).toEqual([1, 1])
    await kept.drop('weights')
    expect(ended).toEqual([])
    await kept.drop('weights')
    expect([ended, keep().number]).toEqual([[1], 2])
    await kept.close()
    expect(ended).toEqual([1, 2])
  })

  test('that a faulty file had opened is not kept for it', async () => {
    const kept = new KeptEngines()
    const dropped: string[] = []
    const around = { ...surroundings(kept), drop: async (name: string) => void dropped.push(name) }
    const model = (id: string, upstream: string) =>
      `  - { id: ${id}, type: image, price: { perImageUsd: 0.01 }, upstreams: [${upstream}] }\n`
    const broken = `{ engine: comfyui, baseUrl: '${server.baseUrl}', workflow: /nowhere.json }`
    const faulty = config(model('a', '{ engine: demo }') + model('b', broken))
    expect(() => readConfig(faulty, {}).openModels(around)).toThrow(ConfigRefused)
    expect(dropped).toEqual(['demo images'])
    await kept.close()
  })
})
