import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { invalidRequest } from '#contract/errors/errors.ts'
import { DetailedError } from '#contract/errors/failures.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { GuardedFetcher } from '#engines/fetch/guarded-fetcher.ts'
import { imageFileBytes, readImage } from '#engines/images/image-file.ts'
import { PacketProbe, VideoMedia } from '#engines/video-media/video-media.ts'
import { checkVideo, checkVideoPrice, settledRequest } from '#service/capabilities/video/quote-video.ts'
import { dataUrl, gifFile, jpegFile, png, webpFile } from './example-images.ts'
import { videoModel } from './example-models.ts'

const model = videoModel()
const request = (change: object = {}): VideoQueueRequest =>
  VideoQueueRequest.parse({ model: model.id, prompt: 'a boat', duration: '5s', ...change })
const only = (change: object) => videoModel({ constraints: { ...model.constraints, ...change } })

const fetcher = new GuardedFetcher()
afterAll(() => fetcher.close())
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const { signal } = new AbortController()

/** All checks in the order of a request. */
async function checked(other: typeof model, asked: VideoQueueRequest) {
  checkVideo(other, asked)
  return (await new VideoMedia({ probe: new PacketProbe(), log }).take(asked, { fetcher, signal })).media
}

async function problemOf(run: () => unknown): Promise<{ field: string; message: string }> {
  try {
    await run()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    expect(error.kind).toBe(invalidRequest({ error: '' }).kind)
    const body = DetailedError.parse(error.body)
    const issue = body.issues?.[0]
    return { field: String(issue?.path), message: String(issue?.message) }
  }
  throw new Error('Nothing was refused.')
}

const imageFile = dataUrl('png', png(16, 8))
const refused: [rule: string, change: object, field: string, message: RegExp, model?: ReturnType<typeof videoModel>][] =
  [
    ['duration', { duration: '7s' }, 'duration', /allowed values: 2s, 3s, 4s, 5s, 6s, 8s, 10s, Auto, 1 gen/],
    ['resolution', { resolution: '4k' }, 'resolution', /allowed values: 480p, 360p, 720p, 1080p/],
    ['ratio', { aspect_ratio: '9:21' }, 'aspect_ratio', /allowed values: 16:9/],
    [
      'a ratio for a model without a choice',
      { aspect_ratio: '1:1' },
      'aspect_ratio',
      /does not support aspect_ratio/,
      only({ aspect_ratios: [] }),
    ],
    ['upscale_factor', { upscale_factor: 2 }, 'upscale_factor', /does not support/],
    [
      'sound off where it is fixed',
      { audio: false },
      'audio',
      /allowed value: true/,
      only({ audio_configurable: false }),
    ],
    ['a long prompt', { prompt: 'x'.repeat(2_501) }, 'prompt', /2501 characters; demo-video accepts 2500/],
    ['a long negative prompt', { negative_prompt: 'x'.repeat(2_501) }, 'negative_prompt', /2500 at most/],
    ['an end image', { end_image_url: imageFile }, 'end_image_url', /does not support/],
    ['music', { audio_url: 'https://example.com/a.mp3' }, 'audio_url', /does not support/],
    ['a video', { video_url: 'https://example.com/a.mp4' }, 'video_url', /does not support/],
    ['references', { reference_image_urls: [imageFile] }, 'reference_image_urls', /does not support/],
    ['elements', { elements: [{}] }, 'elements', /does not support/],
    ['scenes', { scene_image_urls: [imageFile] }, 'scene_image_urls', /does not support/],
    ['an image that is missing', {}, 'image_url', /needs an image/, only({ model_type: 'image-to-video' })],
    [
      'an image too many',
      { image_url: imageFile },
      'image_url',
      /does not support/,
      only({ model_type: 'text-to-video' }),
    ],
    ['a private address', { image_url: 'http://10.0.0.1/a.png' }, 'image_url', /must be a public address/],
    ['no base64', { image_url: 'data:image/png,abc' }, 'image_url', /must be a data URL with base64/],
    [
      'a type that is not taken',
      { image_url: dataUrl('svg+xml', Buffer.from('<svg/>')) },
      'image_url',
      /one of png, jpeg, webp, gif/,
    ],
    ['letters outside base64', { image_url: 'data:image/png;base64,iVBO*w0K' }, 'image_url', /not valid base64/],
    ['base64 of a wrong length', { image_url: 'data:image/png;base64,iVBOR' }, 'image_url', /not valid base64/],
    ['nothing in it', { image_url: 'data:image/png;base64,' }, 'image_url', /not valid base64/],
    [
      'bytes that are no image',
      { image_url: dataUrl('png', Buffer.from('#EXTM3U\nfile:///etc/passwd')) },
      'image_url',
      /not an image/,
    ],
    [
      'another type than declared',
      { image_url: dataUrl('jpeg', png(4, 4)) },
      'image_url',
      /declares jpeg, but its bytes are png/,
    ],
    ['a header cut off', { image_url: dataUrl('png', png(4, 4).subarray(0, 20)) }, 'image_url', /cut off/],
    [
      'a decompression bomb',
      { image_url: dataUrl('png', png(1, 1, { width: 50_000, height: 50_000 })) },
      'image_url',
      /pixels at most/,
    ],
    ['no pixel', { image_url: dataUrl('png', png(1, 1, { width: 0, height: 5 })) }, 'image_url', /damaged/],
    [
      'too many bytes',
      { image_url: `data:image/png;base64,${'A'.repeat(Math.ceil(imageFileBytes / 3) * 4 + 4)}` },
      'image_url',
      /bytes at most/,
    ],
  ]
test.each(refused)('%s is refused by name', async (_rule, change, field, message, other = model) => {
  const problem = await problemOf(() => checked(other, request(change)))
  expect(problem.field).toBe(field)
  expect(problem.message).toMatch(message)
})

test.each([
  ['a plain prompt', {}],
  ['all choices', { duration: '10s', resolution: '1080p', aspect_ratio: '21:9', audio: false }],
  ['Auto', { duration: 'Auto' }],
  ['empty lists', { reference_image_urls: [], elements: [] }],
  ['unknown members', { guidance: 3 }],
])('%s passes', async (_rule, change) => {
  expect(await checked(model, request(change))).toEqual([])
})

test.each([
  ['png', dataUrl('png', png(16, 8)), { type: 'png', width: 16, height: 8 }],
  ['jpg', dataUrl('jpg', jpegFile), { type: 'jpeg', width: 64, height: 32 }],
  ['gif', dataUrl('GIF', gifFile), { type: 'gif', width: 64, height: 32 }],
  ['webp', dataUrl('webp', webpFile), { type: 'webp', width: 64, height: 32 }],
])('a %s is read', async (_type, url, expected) => {
  expect(readImage(url)).toMatchObject({ ok: true, image: expected })
  expect(await checked(model, request({ image_url: url }))).toMatchObject([{ mimeType: `image/${expected.type}` }])
})

test('a quote is checked like its request', async () => {
  expect((await problemOf(() => checkVideoPrice(model, { model: model.id, duration: '20s' }))).field).toBe('duration')
  expect(checkVideoPrice(model, { model: model.id, duration: '5s', reference_video_total_duration: 3 })).toBeUndefined()
})

test('the engine is told the defaults that were priced', () => {
  expect(settledRequest(model, request())).toMatchObject({ resolution: '480p', aspect_ratio: '16:9', audio: true })
})

test('no image, however broken, gives anything but an answer', () => {
  const anyImage = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.tuple(fc.constantFrom(png(4, 4), jpegFile, gifFile, webpFile), fc.nat(60), fc.nat(255)).map(([from, at, to]) => {
      const bytes = Buffer.from(from)
      if (at < bytes.length) bytes[at] = to
      return bytes.subarray(0, Math.max(1, bytes.length - (at % 7)))
    }),
  )
  fc.assert(
    fc.property(fc.constantFrom('png', 'jpeg', 'webp', 'gif'), anyImage, (type, bytes) => {
      expect(readImage(dataUrl(type, Buffer.from(bytes)))).toHaveProperty('ok')
    }),
    { numRuns: 500 },
  )
})
