import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FaceDetector, FaceMedia, VideoEngine } from '#engines/ports/media-engines.ts'
import type { Store } from '#ledger/store/store.ts'
import type { VideoModel } from '#service/models/model.ts'
import { agreed } from '../agreed.ts'
import { asDataUrl, clip } from '../engines/video-media/example-clips.ts'
import { dataUrl, png } from './models/example-images.ts'
import { videoModel } from './models/example-models.ts'
import { type OpenedService, openService } from './open-service.ts'

const running = { state: 'running' as const, engineState: {} }
const engine: VideoEngine = { carries: () => true, start: async () => running, poll: async () => running }
const consent = { provider: 'seedance', title: 'Seedance', version: 'v2.0', text: 'The likeness is your own.' }
const every = [
  'image_url',
  'end_image_url',
  'video_url',
  'audio_url',
  'reference_image_urls',
  'reference_video_urls',
  'elements',
  'scene_image_urls',
] as const
const asking = (change: Partial<VideoModel> = {}): VideoModel =>
  videoModel({ engine, consent, constraints: { ...videoModel().constraints, media: [...every] }, ...change })

/** Images wider than 20 pixels, and all videos, show a face. */
class WideFaces implements FaceDetector {
  readonly asked: FaceMedia[] = []
  async hasFace(media: FaceMedia) {
    this.asked.push(media)
    return media.kind === 'video' || media.bytes.readUInt32BE(16) > 20
  }
}

const nobody = dataUrl('png', png(8, 8))
let shade = 30
/** An image with a face that no other test has used. */
const face = (): string => dataUrl('png', png(shade++, 8))

/** As ledger does whose last credit goes to another call meanwhile. */
let isRefusing = false
const refusing = (real: Store): Store => ({
  read: real.read,
  soleOwner: real.soleOwner,
  prune: (slice, rows) => real.prune(slice, rows),
  close: () => real.close(),
  async commit(units) {
    const isAccept = units.some(({ id }) => id.endsWith('/accept'))
    return isRefusing && isAccept
      ? units.map(() => ({ ok: false, op: 0, why: 'insufficient_funds' }))
      : real.commit(units)
  },
})

const faces = new WideFaces()
let service: OpenedService
let video = ''
let audio = ''
beforeAll(async () => {
  video = asDataUrl('video/mp4', await clip('mp4', 3))
  audio = asDataUrl('audio/wav', await clip('wav', 3))
  service = await openService({
    faces,
    storeBefore: refusing,
    models: () => [
      asking(),
      asking({ id: 'newer', traits: [], consent: { ...consent, version: 'v3.0' } }),
      asking({ id: 'free', traits: [], consent: null }),
    ],
  })
}, 60_000)
afterAll(() => service.close())

const ask = async (body: object, key?: string) => {
  const whole = { model: 'demo-video', prompt: 'a boat', duration: '2s', ...body }
  const response = await service.post('/video/queue', whole, key ?? (await service.key(5)))
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('§3.2 which requests need consent', () => {
  const rules: [rule: string, body: () => object, roles: string[] | null][] = [
    ['text alone', () => ({}), null],
    ['an image without a person', () => ({ image_url: nobody }), null],
    ['sound', () => ({ audio_url: audio }), null],
    ['a first frame', () => ({ image_url: face() }), ['image']],
    ['a last frame', () => ({ image_url: nobody, end_image_url: face() }), ['end_image']],
    ['a video', () => ({ video_url: video }), ['video']],
    ['a reference', () => ({ reference_image_urls: [nobody, face()] }), ['reference_image']],
    ['a reference video', () => ({ reference_video_urls: [video] }), ['reference_video']],
    ['a scene', () => ({ scene_image_urls: [face()] }), ['reference_image']],
    [
      'an element',
      () => ({ elements: [{ frontal_image_url: face(), video_url: video }] }),
      ['reference_image', 'reference_video'],
    ],
    ['several', () => ({ image_url: face(), end_image_url: face() }), ['image', 'end_image']],
    ['a model that asks nobody', () => ({ model: 'free', image_url: face() }), null],
  ]
  test.each(rules)('%s', async (_rule, body, roles) => {
    const { status, body: answer } = await ask(body())
    if (roles === null) expect(status).toBe(200)
    else expect([status, answer.face_media_roles]).toEqual([409, roles])
  })

  test('the body is the published one', async () => {
    const { status, body } = await ask({ image_url: face() })
    expect([status, body]).toEqual([
      409,
      {
        error: { code: 'needs_consent', message: 'Seedance consent is required for this request.' },
        consent_flow: 'seedance',
        face_media_roles: ['image'],
        consent: { consent_version: 'v2.0', policy_text: 'The likeness is your own.' },
        docs_url: 'http://127.0.0.1:8402/policies/seedance',
      },
    ])
  })
})

describe('what was attested is not asked for again', () => {
  test('the same bytes, in any field, by the same account', async () => {
    const key = await service.key(5)
    const image_url = face()
    expect((await ask({ image_url }, key)).status).toBe(409)
    expect((await ask({ image_url, consents: { seedance: agreed } }, key)).status).toBe(200)
    expect((await ask({ image_url }, key)).status).toBe(200)
    expect((await ask({ reference_image_urls: [image_url] }, key)).status).toBe(200)
    // Saying it again is no fault.
    expect((await ask({ image_url, consents: { seedance: agreed } }, key)).status).toBe(200)
  })

  test('not another account, another version or another face', async () => {
    const key = await service.key(5)
    const image_url = face()
    expect((await ask({ image_url, consents: { seedance: agreed } }, key)).status).toBe(200)
    expect((await ask({ image_url })).status).toBe(409)
    expect((await ask({ model: 'newer', image_url }, key)).status).toBe(409)
    expect((await ask({ image_url, end_image_url: face() }, key)).body.face_media_roles).toEqual(['end_image'])
  })

  test('two requests that attest the same at once are both taken', async () => {
    const key = await service.key(5)
    const body = { image_url: face(), consents: { seedance: agreed } }
    const answers = await Promise.all([ask(body, key), ask(body, key), ask(body, key)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  })

  test('V9: no consent is stored for a job that was not accepted', async () => {
    const key = await service.key(5)
    const image_url = face()
    isRefusing = true
    const refused = await ask({ image_url, consents: { seedance: agreed } }, key)
    isRefusing = false
    expect(refused.status).toBe(402)
    expect((await ask({ image_url }, key)).status).toBe(409)
  })

  test('a consent that was refused attests nothing', async () => {
    const key = await service.key(5)
    const image_url = face()
    for (const consents of [
      { seedance: { ...agreed, confirmed_legal_right: false } },
      { seedance: { ...agreed, consent_version: 'v2.0' } },
      { seedance: { confirmed_legal_right: true } },
      { other: agreed },
      { seedance: agreed, other: agreed },
    ]) {
      expect([consents, (await ask({ image_url, consents }, key)).status]).toEqual([consents, 400])
    }
    expect((await ask({ image_url }, key)).status).toBe(409)
  })

  test('a year later, consent is requested again', async () => {
    const key = await service.key(5)
    const image_url = face()
    expect((await ask({ image_url, consents: { seedance: agreed } }, key)).status).toBe(200)
    service.clock.pass(366 * 24 * 60 * 60 * 1000)
    expect((await ask({ image_url }, key)).status).toBe(409)
  })
})
