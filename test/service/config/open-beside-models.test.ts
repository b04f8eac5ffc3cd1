import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BesideModels, openBesideModels } from '#service/config/open-beside-models.ts'
import { readConfig } from '#service/config/read-config.ts'
import { asJson, type Upstream, upstream } from '../../engines/openai/upstream.ts'
import { drawn, made, played } from '../../media/made-media.ts'
import { type OpenedService, openService } from '../open-service.ts'

/** What a file says beside models, before the real service and servers on loopback. */
let server: Upstream
let beside: BesideModels
let service: OpenedService
let key: string
const transcribed = asJson({ text: 'What was said.' })

beforeAll(async () => {
  server = await upstream((response, { url = '' }) => {
    if (url.endsWith('/transcriptions')) return transcribed(response)
    asJson([{ jsonrpc: '2.0', id: 0, result: '0x2105' }])(response)
  })
  const { file } = readConfig(
    `
publicUrl: https://api.example.com
search: { engine: demo }
pages: { engine: demo }
networks: [{ slug: base-mainnet, urls: ['${server.baseUrl}node'], baseCredits: 30 }]
characters: [{ slug: guide, name: Guide, instructions: Explain., modelId: demo-chat, createdAt: 2026-11-22, reviews: [{ username: ada, rating: 4, createdAt: 2026-11-23 }] }]
transcriber: { engine: openai, baseUrl: '${server.baseUrl}', apiKey: '\${KEY}', model: whisper }
models:
  - id: demo-chat
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [{ engine: demo }]
`,
    { KEY: 'key-of-the-server' },
  )
  beside = await openBesideModels(file, { info() {}, warn() {}, error() {} })
  const { fetchHosts: _, ...options } = beside.options
  service = await openService({
    ...options,
    fetcher: { fetch: async ({ url }) => ({ url, mimeType: 'video/mp4', charset: null, bytes: video }) },
  })
  key = await service.key(1)
})
afterAll(async () => {
  await service.close()
  await beside.close()
  await server.close()
})

let video: Buffer = Buffer.alloc(0)

const answered = async (path: string, body?: object) => {
  const response = await (body
    ? service.post(path, body, key)
    : service.request(`/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } }))
  return [response.status, await response.text()]
}

test.each([
  ['searches', '/augment/search', { query: 'farebox' }, 'demonstration search'],
  ['networks', '/crypto/rpc/networks', undefined, 'base-mainnet'],
  ['nodes', '/crypto/rpc/base-mainnet', { jsonrpc: '2.0', id: 7, method: 'eth_chainId', params: [] }, '0x2105'],
  ['characters', '/characters/guide', undefined, '"createdAt":"2026-11-22T00:00:00.000Z"'],
  ['reviews', '/characters/guide/reviews', undefined, '"summary":{"averageRating":4,"totalReviews":1}'],
])('a file sets up %s', async (_, path, body, text) => {
  expect(await answered(path, body)).toEqual([200, expect.stringContaining(text)])
})

/** One second of an image with a tone, or without one. */
const clip = (hasAudio: boolean): Promise<Buffer> =>
  made('mp4', [drawn('color=c=red:s=64x64:d=1,format=yuv420p'), ...(hasAudio ? [played('sine=f=440:d=1')] : [])])

test('a file sets up words of videos: their server gets the sound alone', { timeout: 60_000 }, async () => {
  video = await clip(true)
  const asked = await answered('/video/transcriptions', { url: 'https://files.example/a.mp4' })
  expect(asked).toEqual([200, '{"transcript":"What was said."}'])
  const { body = {}, headers } = server.seen.at(-1) ?? {}
  expect([body.model, headers?.authorization]).toEqual(['whisper', 'Bearer key-of-the-server'])
  const file = body.file as File
  const audio = Buffer.from(await file.arrayBuffer())
  expect([file.name, audio.length > 1_000, audio.includes('ftyp')]).toEqual(['audio.mp3', true, false])
  video = await clip(false)
  expect(await answered('/video/transcriptions', { url: 'https://files.example/b.mp4' })).toEqual([
    400,
    expect.stringContaining('without readable audio'),
  ])
})
