import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { VideoQuote } from '#contract/operations/video.ts'
import { wavSeconds } from '#engines/audio/recording.ts'
import { GuardedFetcher } from '#engines/fetch/guarded-fetcher.ts'
import type { VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'
import { FfmpegMissing } from '#host/media/ffmpeg.ts'
import { type LocalServer, localServer } from '../../local-server.ts'
import { nestedBoxes, videoOfSamples } from '../../media/hostile-media.ts'
import { drawn, made, played } from '../../media/made-media.ts'
import { tracksOf } from '../../media/tracks-of.ts'
import { dataUrl, png } from '../../service/models/example-images.ts'
import { videoModel } from '../../service/models/example-models.ts'
import { type OpenedService, openService } from '../../service/open-service.ts'
import { asDataUrl, claiming, clip } from './example-clips.ts'

const everything = [
  'image_url',
  'end_image_url',
  'audio_url',
  'video_url',
  'reference_image_urls',
  'reference_video_urls',
  'reference_audio_urls',
  'elements',
  'scene_image_urls',
] as const

/** Keeps what it was asked for, and never ends. */
class Asked implements VideoEngine {
  readonly carries = () => true
  readonly calls: VideoCall[] = []
  async start(call: VideoCall) {
    this.calls.push(call)
    return { state: 'running' as const, engineState: {} }
  }
  async poll() {
    return { state: 'running' as const, engineState: {} }
  }
}

/** Addresses that were asked for. */
const fetched: string[] = []
const files = new Map<string, Buffer>()
const engine = new Asked()
let server: LocalServer
let host = ''
let fetcher: GuardedFetcher
let service: OpenedService

const image = dataUrl('png', png(16, 8))
const clips: Record<string, Buffer> = {}
const sources = [
  ['mp4', 1],
  ['mp4', 3],
  ['mp4', 9],
  ['mp4', 17],
  ['mov', 3],
  ['webm', 3],
  ['avi', 3],
  ['wav', 3],
  ['wav', 1],
  ['wav', 9],
  ['mp3', 3],
  ['mp3', 32],
] as const

const upscaler = videoModel({
  id: 'upscaler',
  traits: [],
  consent: null,
  constraints: {
    aspect_ratios: [],
    resolutions: [],
    durations: [],
    model_type: 'video',
    audio: true,
    audio_configurable: false,
    media: ['video_url'],
    upscale_factors: [1, 2, 4],
  },
  price: {
    perSecondMicroUsd: { '1x': 1_000n, '2x': 4_000n, '4x': 9_000n },
    audioPerSecondMicroUsd: 0n,
  } as unknown as ReturnType<typeof videoModel>['price'],
})

beforeAll(async () => {
  for (const [ending, seconds] of sources) clips[`${ending}${seconds}`] = await clip(ending, seconds)
  clips.crowded = await clip('mp4', 1, 600)
  for (const [name, bytes] of Object.entries(clips)) files.set(`/${name}`, bytes)
  files.set('/image', png(16, 8))
  server = await localServer((request, response) => {
    fetched.push(request.url ?? '')
    const file = files.get(request.url ?? '')
    response.writeHead(file ? 200 : 404, { 'content-type': 'application/octet-stream' }).end(file)
  })
  host = server.host
  fetcher = new GuardedFetcher({ privateHosts: [host] })
  const all = videoModel({
    id: 'all',
    consent: null,
    constraints: { ...videoModel().constraints, media: [...everything] },
  })
  service = await openService({
    fetcher,
    video: engine,
    models: () => [all, upscaler, { ...videoModel(), id: 'plain', traits: [] }].map(model => ({ ...model, engine })),
  })
}, 60_000)
afterAll(async () => {
  await service.close()
  await fetcher.close()
  await server.close()
})

const samples = (count: number): string => asDataUrl('video/mp4', videoOfSamples(count))
const boxes = (depth: number): string => asDataUrl('video/mp4', nestedBoxes('moov', depth))
const at = (name: string): string => `http://${host}/${name}`
const url = (type: string, name: string): string => asDataUrl(type, clips[name] ?? Buffer.alloc(0))
const queued = async (body: object, key?: string) => {
  const asked = { model: 'all', prompt: 'a boat', duration: '2s', ...body }
  return service.post('/video/queue', asked, key ?? (await service.key(5)))
}

test.each([
  ['an image', () => ({ image_url: at('image') })],
  ['a video to upscale', () => ({ model: 'upscaler', prompt: ' ', video_url: at('mp43') })],
])('nothing is fetched for a caller who cannot pay for the shortest video: %s', async (_what, body) => {
  fetched.length = 0
  const poor = await service.key(0)
  expect([(await queued(body(), poor)).status, fetched]).toEqual([402, []])
  expect((await queued(body())).status).toBe(200)
  expect(fetched).toHaveLength(1)
})

describe('§2.6 what a medium may be', () => {
  const taken: [rule: string, body: () => object][] = [
    ['an image by its address', () => ({ image_url: at('image') })],
    ['an end image', () => ({ image_url: image, end_image_url: image })],
    ['music as WAV', () => ({ audio_url: url('audio/wav', 'wav3') })],
    ['music as MP3, by its address', () => ({ audio_url: at('mp33') })],
    ['a video as MP4', () => ({ video_url: url('video/mp4', 'mp43') })],
    ['a video as MOV', () => ({ video_url: url('video/quicktime', 'mov3') })],
    ['a video as WebM, by its address', () => ({ video_url: at('webm3') })],
    ['a video of any length', () => ({ video_url: url('video/mp4', 'mp41') })],
    ['reference videos', () => ({ reference_video_urls: [at('mp43'), url('video/mp4', 'mp49')] })],
    ['reference sounds beside an image', () => ({ reference_audio_urls: [at('wav3')], reference_image_urls: [image] })],
    [
      'elements and scenes',
      () => ({ elements: [{ frontal_image_url: image, video_url: at('mp43') }], scene_image_urls: [at('image')] }),
    ],
  ]
  test.each(taken)('taken: %s', async (_rule, body) => {
    const response = await queued(body())
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('queue_id')])
  })

  const refused: [rule: string, body: () => object, status: number, says: RegExp][] = [
    ['music above 30 s', () => ({ audio_url: at('mp332') }), 400, /"audio_url".*is 32\.\d s long; at most 30 s/],
    [
      'music that is a video',
      () => ({ audio_url: at('mp43') }),
      400,
      /Invalid audio format\. Supported formats are WAV and MP3\./,
    ],
    [
      'music cut off',
      () => ({ audio_url: asDataUrl('audio/wav', Buffer.from('RIFF0000WAVE')) }),
      400,
      /wav file is cut off/,
    ],
    ...(['mp43', 'mov3', 'webm3', 'wav3', 'mp33'] as const).map((name): (typeof refused)[number] => [
      `${name} without its last byte`,
      () => {
        const cut = (clips[name] ?? Buffer.alloc(0)).subarray(0, -1)
        return /wav|mp33/.test(name)
          ? { audio_url: asDataUrl('audio/wav', cut) }
          : { video_url: asDataUrl('video/mp4', cut) }
      },
      400,
      /file is cut off or damaged/,
    ]),
    [
      'a video of another format',
      () => ({ video_url: at('avi3') }),
      400,
      /Invalid video format\. Supported formats are MP4, MOV and WebM\./,
    ],
    [
      'a reference video as WebM',
      () => ({ reference_video_urls: [at('webm3')] }),
      400,
      /Supported formats are MP4 and MOV\./,
    ],
    [
      'a reference video below 2 s',
      () => ({ reference_video_urls: [at('mp41')] }),
      422,
      /^\{"error":"Video duration is too short\. reference_video_urls\.0 is 1\.0 s long; 2 to 15 s are allowed\."\}$/,
    ],
    [
      'a reference video above 15 s',
      () => ({ reference_video_urls: [at('mp417')] }),
      422,
      /^\{"error":"Video duration exceeds the maximum allowed\. reference_video_urls\.0 is 17\.0 s long/,
    ],
    [
      'one that says it is shorter',
      () => ({ reference_video_urls: [asDataUrl('video/mp4', claiming(clips.mp417 ?? Buffer.alloc(0), 3))] }),
      422,
      /is 1[67]\.\d s long/,
    ],
    [
      'more than 15 s together',
      () => ({ reference_video_urls: [at('mp49'), at('mp49')] }),
      422,
      /reference_video_urls last 18\.0 s in total; at most 15 s/,
    ],
    [
      'a reference sound below 2 s',
      () => ({ reference_audio_urls: [at('wav1')], reference_image_urls: [image] }),
      400,
      /"reference_audio_urls",0\].*2 to 15 s/,
    ],
    [
      'sounds above 15 s together',
      () => ({ reference_audio_urls: [at('wav9'), at('wav9')], reference_image_urls: [image] }),
      400,
      /last 18\.0 s in total/,
    ],
    [
      '§7.4 reference sounds alone',
      () => ({ reference_audio_urls: [at('wav3')] }),
      400,
      /^\{"error":"Invalid request parameters".*at least one reference image/,
    ],
    ['a video that is not there', () => ({ video_url: at('nothing') }), 400, /"video_url".*its server answered 404/],
    [
      'an element’s video at a private address',
      () => ({ elements: [{ video_url: 'http://10.0.0.1/a.mp4' }] }),
      400,
      /"elements",0,"video_url".*public address/,
    ],
    [
      'G21: a million and a half frames of one byte each',
      () => ({ video_url: samples(1_500_000) }),
      400,
      /has 1500000 fr/,
    ],
    ['G21: boxes within each other', () => ({ video_url: boxes(4_000) }), 400, /"video_url".*mp4 file is cut off/],
    ['a video that is not base64', () => ({ video_url: 'data:video/mp4;base64,***' }), 400, /not valid base64/],
    [
      'a model that takes none of it',
      () => ({ model: 'plain', video_url: at('mp43') }),
      400,
      /plain does not support video_url; leave it out/,
    ],
    ['upscaling where the model does not', () => ({ upscale_factor: 2 }), 400, /does not support upscale_factor/],
    [
      'no prompt where the model needs one',
      () => ({ prompt: undefined, video_url: at('mp43') }),
      400,
      /"prompt".*needs a prompt/,
    ],
  ]
  test.each(refused)('refused: %s', async (_rule, body, status, says) => {
    const key = await service.key(5)
    const response = await queued(body(), key)
    expect([response.status, await response.text()]).toEqual([status, expect.stringMatching(says)])
  })

  const given = async (body: object) => {
    const before = engine.calls.length
    const response = await queued(body)
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('queue_id')])
    await expect.poll(() => engine.calls.length).toBe(before + 1)
    return engine.calls.at(-1)?.request
  }
  const bytesOf = (dataUrl = '') => Buffer.from(dataUrl.slice(dataUrl.indexOf(',') + 1), 'base64')

  test('the engine gets what was checked, not the address', async () => {
    const request = await given({ image_url: at('image'), video_url: at('mp43') })
    expect(request).toMatchObject({ image_url: image, video_url: expect.stringMatching(/^data:video\/mp4;base64,/) })
  })

  const clip = (length: number, change: Parameters<typeof drawn>[1] = {}) =>
    drawn(`testsrc=d=${length}:s=64x48:r=5,format=yuv420p`, change)
  const tone = (length: number) => played(`sine=d=${length}:r=8000`)
  const vp8 = { encoder: 'libvpx', options: {} }
  test.each<[file: string, format: string, tracks: () => Parameters<typeof made>[1], seconds: number]>([
    ['a second audio track', 'mp4', () => [clip(3), tone(3), tone(9)], 3],
    ['a second video track', 'mp4', () => [clip(3), clip(9), tone(3)], 3],
    ['a second video track, as MOV', 'mov', () => [clip(3), clip(9)], 3],
    ['a second video track, as WebM', 'webm', () => [clip(3, vp8), clip(9, vp8)], 3],
    ['audio that is longer than its video', 'mp4', () => [clip(3), tone(4)], 4],
  ])('the engine gets the tracks that were measured, and no other: %s', async (_file, format, tracks, seconds) => {
    const type = { mp4: 'video/mp4', mov: 'video/quicktime', webm: 'video/webm' }[format] ?? ''
    const request = await given({ video_url: asDataUrl(type, await made(format, tracks())) })
    const got = await tracksOf(bytesOf(request?.video_url))
    const kinds = got.map(({ kind }) => kind)
    expect([...new Set(kinds)]).toEqual(kinds)
    expect(Math.max(...got.map(track => track.seconds))).toBeCloseTo(seconds, 0)
  })

  test.each([
    ['WAV', 'wav', 'audio/wav'],
    ['MP3', 'mp3', 'audio/mpeg'],
  ] as const)('audio as %s reaches the engine as the samples that were measured', async (_name, format, type) => {
    const request = await given({ audio_url: asDataUrl(type, clips[`${format}3`] ?? Buffer.alloc(0)) })
    expect(request?.audio_url).toMatch(/^data:audio\/wav;base64,/)
    expect(wavSeconds(bytesOf(request?.audio_url))).toBeCloseTo(3, 1)
  })
})

describe('§4.3 a quote', () => {
  const quoted = (video_url: string, key: string) => service.post('/video/quote', { model: 'upscaler', video_url }, key)
  test('V9: a quote fetches nothing for a caller without credit', async () => {
    const asked = fetched.length
    const poor = await service.key(0.09)
    const refused = await quoted(at('mp43'), poor)
    expect([refused.status, fetched.length]).toEqual([402, asked])
    expect(refused.headers.get('payment-required')).not.toBeNull()
    // Who brings the bytes makes us fetch nothing.
    expect((await quoted(url('video/mp4', 'mp43'), poor)).status).toBe(200)
    expect((await quoted(at('mp43'), await service.key(0.11))).status).toBe(200)
    expect(fetched.length).toBe(asked + 1)
  })
})

describe('§2.6 upscaling', () => {
  const rules: [rule: string, body: () => object, status: number, says: RegExp | number][] = [
    ['by the length of the video, which has begun its third second', () => ({ video_url: at('mp43') }), 200, 0.012],
    [
      'prompt and duration are not looked at',
      () => ({ video_url: at('mp43'), prompt: 'x', duration: '30s' }),
      200,
      0.012,
    ],
    ['a factor', () => ({ video_url: at('mp43'), upscale_factor: 4 }), 200, 0.027],
    ['a data URL', () => ({ video_url: url('video/webm', 'webm3'), upscale_factor: 1 }), 200, 0.003],
    [
      'a header that claims less',
      () => ({ video_url: asDataUrl('video/mp4', claiming(clips.mp417 ?? Buffer.alloc(0), 1)) }),
      200,
      0.068,
    ],
    ['no video', () => ({ upscale_factor: 2, prompt: 'x', duration: 'Auto' }), 400, /"video_url"/],
    [
      'a resolution',
      () => ({ video_url: at('mp43'), resolution: '1080p' }),
      400,
      /Use upscale_factor instead of resolution/,
    ],
    ['a ratio', () => ({ video_url: at('mp43'), aspect_ratio: '16:9' }), 400, /does not support aspect_ratio/],
    ['another factor', () => ({ video_url: at('mp43'), upscale_factor: 3 }), 400, /upscale_factor/],
    ['an image', () => ({ video_url: at('mp43'), image_url: image }), 400, /does not support image_url/],
    [
      'a second of more images than a second is priced for',
      () => ({ video_url: url('video/mp4', 'crowded') }),
      400,
      /has 600 frames in 1\.0 s; at most 120 a second/,
    ],
  ]
  test.each(rules)('%s', async (_rule, body, status, says) => {
    const key = await service.key(1)
    const asked = { model: 'upscaler', ...body() }
    const response = await service.post('/video/queue', asked, key)
    if (typeof says !== 'number') {
      expect([response.status, await response.text()]).toEqual([status, expect.stringMatching(says)])
      return
    }
    expect([response.status, await response.clone().text()]).toEqual([status, expect.stringContaining('queue_id')])
    const quoted = VideoQuote.parse(await (await service.post('/video/quote', asked, key)).json())
    const { queue_id: id } = (await response.json()) as { queue_id: string }
    const charged = await service.store.read
      .selectFrom('entry')
      .select(({ fn }) => fn.sum<bigint>('amount').as('amount'))
      .where('request', '=', id)
      .executeTakeFirst()
    expect([quoted.quote, Number(charged?.amount) / 1e6]).toEqual([says, says])
  })
})

test('where nothing can measure, what has to be measured is refused and told to the operator', async () => {
  const blind = await openService({
    models: () => [{ ...upscaler, engine }],
    fetcher,
    probe: { probe: () => Promise.reject(new FfmpegMissing()) },
  })
  const response = await blind.post('/video/queue', { model: 'upscaler', video_url: at('mp43') }, await blind.key(1))
  expect([response.status, blind.logged.some(({ level }) => level === 'error')]).toEqual([503, true])
  await blind.close()
})
