/** What the service fetches for a call is in its memory as long as the call, so it counts with the call's body. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GuardedFetcher } from '#engines/fetch/guarded-fetcher.ts'
import type { PageCall, PageReader } from '#engines/ports/engine.ts'
import { localServer } from '../local-server.ts'
import { ScriptedChat, used } from './chat-script.ts'
import { closeSound } from './close-sound.ts'
import { ScriptedImages, scriptedModels } from './image-models.ts'
import { png } from './models/example-images.ts'
import { textModel, videoModel } from './models/example-models.ts'
import { type OpenedService, openService } from './open-service.ts'

const bodyRoom = { allBytes: 200_000, ofOneBytes: 70_000 }
const url = 'https://files.example/a'
/** What the address leads to. */
let bytes = Buffer.alloc(0)

/** Takes what it is given a way to, and finds no text in it. */
const pages: PageReader = {
  async read({ url, fetcher, signal }: PageCall) {
    await fetcher?.fetch({ url, mostBytes: 1e6, timeoutMs: 1e4, signal })
    return { title: '', content: 'text' }
  },
}

const chat = new ScriptedChat()
let service: OpenedService
beforeAll(async () => {
  const { capabilities } = textModel()
  const takesAll = { ...capabilities, supportsVision: true, supportsVideoInput: true }
  const video = videoModel({ id: 'all', consent: null })
  service = await openService({
    settings: { bodyRoom },
    models: ({ video: engine }) => [
      textModel({ id: 'scripted', engine: chat, capabilities: takesAll, files: 'engine' }),
      ...scriptedModels(new ScriptedImages()),
      { ...video, engine, constraints: { ...video.constraints, media: ['image_url'] } },
    ],
    fetcher: { fetch: async () => ({ url, mimeType: 'image/png', charset: null, bytes }) },
    transcriber: { transcribe: async () => ({ transcript: 'words' }) },
    pages,
  })
})
afterAll(async () => {
  await closeSound(service)
})

const charges = () => service.store.read.selectFrom('entry').select('id').where('kind', '=', 'CHARGE').execute()
const asked = (part: object) => ({
  model: 'scripted',
  max_tokens: 4,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'What?' }, part] }],
})
const image = { type: 'image_url', image_url: { url } }

describe('G22: what is fetched for a call counts with its body', () => {
  test.each<[what: string, path: string, body: object]>([
    ['an image of a chat', '/chat/completions', asked(image)],
    ['a video of a chat', '/chat/completions', asked({ type: 'video_url', video_url: { url } })],
    ['a file of a chat', '/chat/completions', asked({ type: 'file', file: { file_data: url } })],
    ['an image to edit', '/image/edit', { model: 'editor', prompt: 'a red sky', image: url }],
    ['an image to enlarge', '/image/upscale', { model: 'upscaler', image: url }],
    ['an image without its background', '/image/background-remove', { model: 'cutter', image_url: url }],
    ['an image of a video', '/video/queue', { model: 'all', prompt: 'a boat', duration: '2s', image_url: url }],
    ['a video to write down', '/video/transcriptions', { url }],
    ['a page', '/augment/scrape', { url }],
  ])('%s', async (_what, path, body) => {
    bytes = Buffer.concat([png(16, 8), Buffer.alloc(60_000)])
    const before = (await charges()).length
    const answer = await service.post(path, body, await service.key(5))
    expect([answer.status, await answer.json(), answer.headers.get('x-ratelimit-type')]).toEqual([
      429,
      expect.objectContaining({ error: expect.stringContaining('nothing was charged') }),
      'user',
    ])
    expect(await charges()).toHaveLength(before)
  })

  test('a share of the memory is for each caller, and free again when the answer has left', async () => {
    bytes = Buffer.concat([png(16, 8), Buffer.alloc(40_000)])
    const [ada, bob] = [await service.key(5), await service.key(5)]
    const gate = Promise.withResolvers<void>()
    chat.play([{ until: gate.promise }, { text: 'A tram' }, { usage: used(20, 2) }])
    const begun = chat.calls.length
    const first = service.post('/chat/completions', asked(image), ada)
    await expect.poll(() => chat.calls.length).toBe(begun + 1)
    expect((await service.post('/chat/completions', asked(image), ada)).status).toBe(429)
    chat.play([{ text: 'A tram' }, { usage: used(20, 2) }])
    expect((await service.post('/chat/completions', asked(image), bob)).status).toBe(200)
    gate.resolve()
    expect((await first).status).toBe(200)
    expect((await service.post('/chat/completions', asked(image), ada)).status).toBe(200)
  })
})

test('G22: what arrives counts at once, and a fetch that finds no more room is ended', async () => {
  const left = Promise.withResolvers<void>()
  const server = await localServer((_request, response) => {
    // It never ends by itself.
    response.writeHead(200, { 'content-type': 'image/png' }).write(Buffer.alloc(60_000))
    response.on('close', left.resolve)
  })
  const { host } = server
  const fetcher = new GuardedFetcher({ privateHosts: [host] })
  const stays = await openService({
    settings: { bodyRoom },
    fetcher,
    models: () => scriptedModels(new ScriptedImages()),
  })
  const answer = await stays.post('/image/upscale', { model: 'upscaler', image: `http://${host}/` }, await stays.key(5))
  expect([answer.status, answer.headers.get('x-ratelimit-type')]).toEqual([429, 'user'])
  await left.promise
  await stays.close()
  await fetcher.close()
  await server.close()
})
