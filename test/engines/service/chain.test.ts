import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ChatCompletion } from '#contract/operations/chat.ts'
import { VideoQueued } from '#contract/operations/video.ts'
import type { UpstreamOptions } from '#engines/http/upstream-options.ts'
import { OpenAiEmbeddings } from '#engines/openai/embeddings.ts'
import {
  ServiceChat,
  ServiceImages,
  ServiceSpeech,
  ServiceTranscription,
  ServiceVideo,
} from '#engines/service/service-engines.ts'
import { audit } from '#ledger/audit/audit.ts'
import { Listener } from '#service/http/listener.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { agreed } from '../../agreed.ts'
import { dataUrl, png } from '../../service/models/example-images.ts'
import { type OpenedService, openService } from '../../service/open-service.ts'

/** Two whole services, one of which runs its models on the other, over a socket. */
let listener: Listener
let above: OpenedService
let below: OpenedService
const closing: { close(): Promise<unknown> }[] = []

/** The demonstrations of the one below, sold by the one above; whose key has credit, or none. */
function sold(options: UpstreamOptions, prefix = ''): Model[] {
  const chat = new ServiceChat({ ...options, vendor: 'acme' })
  const embeddings = new OpenAiEmbeddings(options)
  const images = new ServiceImages(options)
  const video = new ServiceVideo({ ...options, workFolder: join(below.folder, `handed-over${prefix}`) })
  const audioFile = { tts: new ServiceSpeech(options), asr: new ServiceTranscription(options) }
  closing.push(chat, embeddings, images, video, audioFile.tts, audioFile.asr)
  return demoModels({ chat, embeddings, images, video }).map(model => ({
    ...model,
    ...(model.type === 'tts' || model.type === 'asr' ? { engine: audioFile[model.type] } : {}),
    id: `${prefix}${model.id}`,
    traits: [],
    // What is handed on is a model of the service below, by its name there.
    engineModel: model.id,
    engineName: 'below',
  })) as Model[]
}

beforeAll(async () => {
  listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  const publicUrl = `http://127.0.0.1:${listener.port}`
  below = await openService({ settings: { publicUrl, vendor: 'acme', systemPrompt: 'You are below.' } })
  listener.serve((request, bindings) => below.service.app.fetch(request, bindings))
  const environment = { RICH: await below.key(5), POOR: await below.key(0) }
  const options = { baseUrl: `${publicUrl}/api/v1`, environment }
  above = await openService({
    models: () => [
      ...sold({ ...options, apiKeyVariable: 'RICH' }),
      ...sold({ ...options, apiKeyVariable: 'POOR' }, 'poor-'),
    ],
  })
}, 60_000)

afterAll(async () => {
  for (const service of [above, below]) {
    const { findings, driftMicroUsd } = await audit(service.database)
    expect([findings, driftMicroUsd]).toEqual([[], 0n])
  }
  await above.close()
  for (const each of closing) await each.close()
  await listener.close(0)
  await below.close()
})

const messages = [{ role: 'user', content: 'Say something about boats.' }]
const entries = (service: OpenedService) => service.store.read.selectFrom('entry').selectAll().execute()

describe('what is sold above is made below', () => {
  test('a chat', async () => {
    const key = await above.key(1)
    const before = (await entries(below)).length
    const response = await above.post('/chat/completions', { model: 'demo-chat', messages }, key)
    const completion = ChatCompletion.parse(await response.json())
    expect([response.status, completion.model]).toEqual([200, 'demo-chat'])
    expect(completion.choices[0]?.message.content).toContain('boats')
    const direct = await above.post('/chat/completions', { model: 'demo-chat', messages }, key)
    expect(ChatCompletion.parse(await direct.json()).usage).toEqual(completion.usage)
    // The prompt of the service below is not in there, or it would have been paid for.
    expect(completion.usage?.prompt_tokens).toBeLessThan(20)
    expect((await entries(below)).length).toBeGreaterThan(before)
  })

  test('a stream', async () => {
    const body = { model: 'demo-chat', messages, stream: true }
    const response = await above.post('/chat/completions', body, await above.key(1))
    const text = await response.text()
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(text.match(/^data: /gm)?.length).toBeGreaterThan(3)
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
  })

  test('vectors', async () => {
    const body = { model: 'demo-embedding', input: ['a boat', 'a ship'] }
    const response = await above.post('/embeddings', body, await above.key(1))
    expect(((await response.json()) as { data: unknown[] }).data).toHaveLength(2)
  })

  test('an image', async () => {
    const body = { model: 'demo-image', prompt: 'a boat', width: 128, height: 64, style_preset: 'Demo Sketch' }
    const response = await above.post('/image/generate', body, await above.key(1))
    const { images } = (await response.json()) as { images: string[] }
    const bytes = Buffer.from(images[0] ?? '', 'base64')
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([128, 64])
  })

  test('speech, and the words of it', async () => {
    const key = await above.key(1)
    const asked = { model: 'demo-speech', input: 'A boat.', response_format: 'wav' }
    const spoken = await above.post('/audio/speech', asked, key)
    const bytes = Buffer.from(await spoken.arrayBuffer())
    expect([spoken.status, bytes.toString('latin1', 0, 4)]).toEqual([200, 'RIFF'])
    const form = new FormData()
    form.set('model', 'demo-asr')
    form.set('file', new File([new Uint8Array(bytes)], 'boat.wav'))
    const headers = { authorization: `Bearer ${key}` }
    const heard = await above.request('/api/v1/audio/transcriptions', { method: 'POST', headers, body: form })
    expect([heard.status, await heard.text()]).toEqual([200, expect.stringContaining('It received wav audio')])
  })

  const clip = { prompt: 'a boat', duration: '2s', resolution: '360p', audio: false }
  test.each([
    ['inline', { ...clip, model: 'demo-video' }],
    [
      'with an image, and the consent that was given here',
      { ...clip, model: 'demo-video', image_url: dataUrl('png', png(16, 16)), consents: { demo: agreed } },
    ],
  ])(
    'a video, %s',
    async (_rule, body) => {
      const key = await above.key(1)
      const queued = VideoQueued.parse(await (await above.post('/video/queue', body, key)).json())
      const ask = { model: queued.model, queue_id: queued.queue_id }
      let last = new Response()
      const type = async () => {
        last = await above.post('/video/retrieve', ask, key)
        return last.headers.get('content-type')
      }
      await expect.poll(type, { timeout: 40_000, interval: 500 }).toBe('video/mp4')
      expect(Buffer.from(await last.arrayBuffer()).toString('latin1', 4, 8)).toBe('ftyp')
      // Below it has been handed over and deleted.
      const jobs = await below.store.read.selectFrom('job').select('state').execute()
      expect(new Set(jobs.map(({ state }) => state))).toEqual(new Set(['deleted']))
    },
    60_000,
  )

  test('a video by its download address, handed on by one of our own', async () => {
    const key = await above.key(1)
    const body = { ...clip, model: 'demo-video-url' }
    const queued = VideoQueued.parse(await (await above.post('/video/queue', body, key)).json())
    const ask = { model: queued.model, queue_id: queued.queue_id }
    const status = async () =>
      ((await (await above.post('/video/retrieve', ask, key)).json()) as { status: string }).status
    await expect.poll(status, { timeout: 40_000, interval: 500 }).toBe('COMPLETED')
    const { pathname, search } = new URL(queued.download_url ?? '')
    const file = Buffer.from(await (await above.request(pathname + search)).arrayBuffer())
    expect(file.toString('latin1', 4, 8)).toBe('ftyp')
  }, 60_000)
})

describe('our own bill below is not our caller’s', () => {
  test.each([
    ['chat', '/chat/completions', { model: 'poor-demo-chat', messages }],
    ['image', '/image/generate', { model: 'poor-demo-image', prompt: 'a boat' }],
    ['vector', '/embeddings', { model: 'poor-demo-embedding', input: 'a boat' }],
  ])('%s', async (_rule, path, body) => {
    const key = await above.key(1)
    const before = (await entries(above)).filter(({ kind }) => kind === 'CHARGE').length
    const response = await above.post(path, body, key)
    expect([response.status, await response.json()]).toEqual([
      503,
      { error: 'The model is temporarily offline. Please try again later.' },
    ])
    expect((await entries(above)).filter(({ kind }) => kind === 'CHARGE').length).toBe(before)
  })

  test('a video is refunded', async () => {
    const key = await above.key(1)
    const body = { model: 'poor-demo-video', prompt: 'a boat', duration: '2s' }
    const queued = VideoQueued.parse(await (await above.post('/video/queue', body, key)).json())
    const ask = { model: queued.model, queue_id: queued.queue_id }
    const status = async () => (await above.post('/video/retrieve', ask, key)).status
    await expect.poll(status, { timeout: 20_000 }).toBe(500)
    const rows = (await entries(above)).filter(({ request }) => request === queued.queue_id)
    expect(rows.reduce((sum, { effect }) => sum + effect, 0n)).toBe(0n)
  })
})
