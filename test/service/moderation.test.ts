import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { typeOfBytes } from '#contract/wire/image-header.ts'
import { DemoImages } from '#engines/demo/images.ts'
import { blurImage } from '#engines/images/raster.ts'
import { NsfwModerator, OpenAiModerator } from '#engines/moderation/moderators.ts'
import type { ImageCall, ImageFinding } from '#engines/ports/media-engines.ts'
import { ServiceImages } from '#engines/service/service-engines.ts'
import { optionalPackage } from '#host/packages.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { upstream } from '../engines/openai/upstream.ts'
import { type OpenedService, openService } from './open-service.ts'

/** What is used of `sharp`, which is an optional package of farebox. */
interface Image {
  png(): Image
  toFormat(format: string): Image
  toBuffer(): Promise<Buffer>
  metadata(): Promise<{ width: number; height: number; format: string }>
  greyscale(): Image
  stats(): Promise<{ channels: { stdev: number }[] }>
}
type Sharp = (input: Buffer | { create: object }) => Image

const loadSharp = async () => (await optionalPackage<{ default: Sharp }>('sharp', 'This test')).default

const innocent: ImageFinding = { isAdult: false, isViolation: null, containsMinor: null }
const adult: ImageFinding = { ...innocent, isAdult: true }
const names = ['is-blurred', 'is-content-violation', 'is-adult-model-content-violation', 'contains-minor']
const contentHeaders = (response: Response) => names.map(name => response.headers.get(`x-service-${name}`))

let findings: (ImageFinding | Error)[]
let looked: number
const moderator = {
  async judge() {
    const finding = findings[looked++ % findings.length]
    if (finding instanceof Error || !finding) throw finding
    return finding
  },
}

let service: OpenedService
beforeAll(async () => {
  service = await openService({ moderator })
})
afterAll(() => service.close())
beforeEach(() => {
  looked = 0
})

async function send(path: string, body: object, from = service) {
  const charges = () =>
    from.store.read
      .selectFrom('entry')
      .select('id')
      .where('kind', '=', 'CHARGE')
      .execute()
      .then(rows => rows.length)
  const before = await charges()
  const response = await from.post(path, body, await from.key(1))
  const bytes = Buffer.from(await response.arrayBuffer())
  return { response, bytes, charges: (await charges()) - before }
}

const call: ImageCall = {
  request: { prompt: 'a red boat', width: 256, height: 256, count: 1, format: 'png' },
  engineModel: 'demo-image',
  signal: new AbortController().signal,
}

const generate = { model: 'demo-image', prompt: 'a red boat', width: 256, height: 256, return_binary: true }

describe('with a moderator', () => {
  test.each([
    // what it found                                            safe mode  blurred, violation, adult violation, minor
    ['nothing', innocent, true, ['false', 'false', null, null]],
    ['nothing, without safe mode', innocent, false, [null, 'false', null, null]],
    ['sexual content, without safe mode', adult, false, [null, 'false', null, null]],
    ['another violation', { ...innocent, isViolation: true }, true, ['false', 'true', null, null]],
    ['that no one is a minor', { ...innocent, containsMinor: false }, true, ['false', 'false', 'false', 'false']],
    ['a minor, and nothing sexual', { ...innocent, containsMinor: true }, true, ['false', 'false', 'false', 'true']],
  ] as const)('headers say what it found: %s', async (_what, finding, safe_mode, headers) => {
    findings = [finding]
    const { response, charges } = await send('/image/generate', { ...generate, safe_mode })
    expect([response.status, charges, contentHeaders(response)]).toEqual([200, 1, headers])
  })

  test.each([true, false])('a sexual image of a minor is neither sold nor charged; safe mode: %s', async safe_mode => {
    findings = [{ ...adult, containsMinor: true }]
    const { response, charges } = await send('/image/generate', { ...generate, safe_mode })
    expect([response.status, charges]).toEqual([422, 0])
    expect(contentHeaders(response).slice(1)).toEqual(['true', 'true', 'true'])
  })

  test('an image that could not be checked is neither delivered nor charged', async () => {
    findings = [new Error('the thread ended')]
    const { response, charges, bytes } = await send('/image/generate', generate)
    expect([response.status, charges]).toEqual([503, 0])
    expect(JSON.parse(bytes.toString()).error).toContain('nothing was charged')
  })

  test('OpenAI’s request has safe mode too, unless its moderation is low', async () => {
    findings = [innocent]
    const body = { model: 'demo-image', prompt: 'a red boat', size: '256x256' }
    const auto = await send('/images/generations', body)
    const low = await send('/images/generations', { ...body, moderation: 'low' })
    expect([auto, low].map(({ response }) => contentHeaders(response)[0])).toEqual(['false', null])
  })
})

test('without a moderator, safe mode succeeds and no header tells of content', async () => {
  const alone = await openService()
  try {
    const { response, charges } = await send('/image/generate', { ...generate, safe_mode: true }, alone)
    expect([response.status, charges, contentHeaders(response)]).toEqual([200, 1, [null, null, null, null]])
  } finally {
    await alone.close()
  }
})

describe('a sexual image in safe mode', () => {
  const contrast = async (bytes: Buffer): Promise<number> => {
    const sharp = await loadSharp()
    const { channels } = await sharp(bytes).greyscale().stats()
    return channels[0]?.stdev ?? 0
  }

  test('is sold blurred, in its own size', async () => {
    const sharp = await loadSharp()
    findings = [adult]
    const shown = await send('/image/generate', { ...generate, safe_mode: false })
    const hidden = await send('/image/generate', { ...generate, safe_mode: true })
    expect([hidden.response.status, hidden.charges]).toEqual([200, 1])
    expect(contentHeaders(hidden.response).slice(0, 2)).toEqual(['true', 'true'])
    const { width, height } = await sharp(hidden.bytes).metadata()
    expect([width, height]).toEqual([256, 256])
    expect(await contrast(hidden.bytes)).toBeLessThan((await contrast(shown.bytes)) * 0.9)
  })

  test.each(['png', 'jpeg', 'webp'] as const)('keeps its format: %s', async format => {
    const sharp = await loadSharp()
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
    const image = await sharp({ create: { width: 64, height: 48, channels: 3, noise, background: '#000' } })
      .toFormat(format)
      .toBuffer()
    const blurred = await blurImage(image, format)
    expect(typeOfBytes(blurred)).toBe(format)
    expect(await contrast(blurred)).toBeLessThan((await contrast(image)) / 4)
  })

  test('alone of its request: the others stay as they are', async () => {
    findings = [innocent, adult]
    const body = { ...generate, return_binary: false, variants: 2, seed: 7 }
    const { bytes, response } = await send('/image/generate', { ...body, safe_mode: true })
    findings = [innocent]
    const plain = await send('/image/generate', { ...body, safe_mode: true })
    const [one, two] = [bytes, plain.bytes].map(each => JSON.parse(each.toString()).images as string[])
    expect(contentHeaders(response)[0]).toBe('true')
    expect([one?.[0] === two?.[0], one?.[1] === two?.[1]]).toEqual([true, false])
  })
})

describe('the local moderator', { timeout: 60_000, tags: ['engines'] }, () => {
  const certain = new NsfwModerator()
  const wary = new NsfwModerator({ threshold: 0.001 })
  afterAll(() => Promise.all([certain.close(), wary.close()]))
  const { signal } = new AbortController()

  test('calls a drawing no sexual content, is certain of nothing, and knows nothing of ages', async () => {
    const sharp = await loadSharp()
    const background = '#d08060'
    const image = await sharp({ create: { width: 512, height: 300, channels: 3, background } })
      .png()
      .toBuffer()
    expect(await certain.judge(image, signal)).toEqual(innocent)
    expect(await wary.judge(image, signal)).toEqual(adult)
  })

  test('reports what is not an image', async () => {
    await expect(certain.judge(Buffer.from('no image'), signal)).rejects.toThrow(/unsupported image format/)
  })
})

describe('a moderation server', () => {
  const applied = (types: string[]) => ({ category_applied_input_types: { 'sexual/minors': types } })
  test.each([
    ['flags nothing', { categories: { sexual: false, violence: false } }, { ...innocent, isViolation: false }],
    ['flags sexual content', { categories: { sexual: true } }, { ...adult, isViolation: false }],
    ['flags violence', { categories: { sexual: false, violence: true } }, { ...innocent, isViolation: true }],
    [
      'looks for minors in text alone',
      { categories: { sexual: false, 'sexual/minors': false }, ...applied(['text']) },
      { ...innocent, isViolation: false },
    ],
    [
      'finds no minors in images',
      { categories: { sexual: true, 'sexual/minors': false }, ...applied(['image']) },
      { ...adult, isViolation: false, containsMinor: false },
    ],
    [
      'finds a minor',
      { categories: { sexual: true, 'sexual/minors': true }, ...applied(['image']) },
      { isAdult: true, isViolation: true, containsMinor: true },
    ],
  ])('that %s', async (_what, result, finding) => {
    const sharp = await loadSharp()
    const server = await upstream(response => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results: [result] }))
    })
    const asked = new OpenAiModerator({ baseUrl: server.baseUrl, model: 'omni' })
    try {
      const image = await sharp({ create: { width: 2000, height: 100, channels: 3, background: '#fff' } })
        .png()
        .toBuffer()
      expect(await asked.judge(image, new AbortController().signal)).toEqual(finding)
      const [{ url = '', body = {} } = {}] = server.seen
      const [input] = body.input as [{ image_url: { url: string } }]
      const sent = await sharp(Buffer.from(input.image_url.url.split(',')[1] ?? '', 'base64')).metadata()
      expect([url, body.model, sent.format, sent.width]).toEqual(['/v1/moderations', 'omni', 'jpeg', 1024])
    } finally {
      await asked.close()
      await server.close()
    }
  })
})

test('another service is told the safe mode, and its findings are passed on', async () => {
  const png = (await new DemoImages().generate(call)).map(bytes => bytes.toString('base64'))
  const server = await upstream(response => {
    const headers = { 'x-acme-is-blurred': 'true', 'x-acme-contains-minor': 'false' }
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ images: png }))
  })
  const engine = new ServiceImages({ baseUrl: server.baseUrl, vendor: 'acme' })
  const models = (engines: Parameters<typeof demoModels>[0]) =>
    demoModels(engines).map((model: Model) => (model.type === 'image' ? { ...model, engine } : model))
  const chained = await openService({ models })
  try {
    const { response } = await send('/image/generate', { ...generate, safe_mode: true }, chained)
    expect([response.status, contentHeaders(response)]).toEqual([200, ['true', null, null, 'false']])
    await send('/image/generate', { ...generate, safe_mode: false }, chained)
    expect(server.seen.map(({ body }) => body.safe_mode)).toEqual([true, false])
  } finally {
    await chained.close()
    await engine.close()
    await server.close()
  }
})
