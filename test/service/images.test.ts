import { inflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { GeneratedImages, SimpleImages } from '#contract/operations/images.ts'
import { imageSize, typeOfBytes } from '#contract/wire/image-header.ts'
import type { ImageCall, ImageEngine } from '#engines/ports/media-engines.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { ImageModel, Model } from '#service/models/model.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

/** Says what a test wants it to say, and remembers what it was asked. */
class ScriptedImages implements ImageEngine {
  readonly carries = () => true
  asked: ImageCall[] = []
  result: (call: ImageCall) => Promise<Buffer[]> | Buffer[] = ({ request }) => Array(request.count).fill(png)

  async generate(call: ImageCall): Promise<Buffer[]> {
    this.asked.push(call)
    return this.result(call)
  }
}

const png = Buffer.from('89504e470d0a1a0a00', 'hex')
const jpeg = Buffer.from('ffd8ffe000104a46', 'hex')
const engine = new ScriptedImages()
const asIs = engine.result

let service: OpenedService
beforeAll(async () => {
  service = await openService({
    models: engines => {
      const demo = demoModels(engines)
      const model = demo.find((each: Model): each is ImageModel => each.type === 'image')
      if (!model) throw new Error('There is no model of images.')
      const scripted: ImageModel = { ...model, traits: [], engine, price: { perImageMicroUsd: microUsd(10_000) } }
      const steps = { default: 20, max: 50 }
      return [
        ...demo,
        { ...scripted, id: 'scripted', engineModel: 'inner', formats: ['png', 'jpeg'], hasNegativePrompt: true, steps },
        { ...scripted, id: 'plain', hasSeed: false, styles: [] },
      ]
    },
  })
})
afterAll(async () => {
  await closeSound(service)
})

const body = { model: 'scripted', prompt: 'a red boat' }

async function charged(key: string, request: object, path = '/image/generate', headers: Record<string, string> = {}) {
  const before = await service.store.read.selectFrom('entry').select('id').execute()
  const response = await service.request(`/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify(request),
  })
  const entries = await service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()
  const known = new Set(before.map(({ id }) => id))
  return { response, lines: entries.filter(({ id }) => !known.has(id)) }
}

describe('§7.1 POST /image/generate', () => {
  test('images come as base64, charged by the piece, with what the request says', async () => {
    engine.result = asIs
    const asked = {
      ...body,
      variants: 3,
      width: 512,
      height: 256,
      seed: 7,
      negative_prompt: 'fog',
      steps: 4,
      cfg_scale: 2.5,
    }
    const { response, lines } = await charged(await service.key(1), { ...asked, style_preset: 'Demo Poster' })
    const answer = GeneratedImages.parse(await response.json())
    expect([response.status, answer.images]).toEqual([200, Array(3).fill(png.toString('base64'))])
    expect(lines.map(({ sku, units, amount }) => [sku, units, amount])).toEqual([['image.generation', 3n, 30_000n]])
    expect(engine.asked.at(-1)).toMatchObject({
      engineModel: 'inner',
      request: {
        ...{ prompt: 'a red boat', width: 512, height: 256, count: 3, format: 'png', seed: 7, steps: 4, cfgScale: 2.5 },
        ...{ negativePrompt: 'fog', style: 'Demo Poster' },
      },
    })
    const headers = ['x-service-model-id', 'x-service-is-blurred', 'x-ratelimit-limit-requests']
    expect(headers.map(name => response.headers.get(name))).toEqual(['scripted', null, '20'])
  })

  test('or one as its bytes', async () => {
    engine.result = () => [jpeg]
    const asked = { ...body, format: 'jpeg', return_binary: true, safe_mode: false }
    const { response, lines } = await charged(await service.key(1), asked)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/jpeg'])
    expect(Buffer.from(await response.arrayBuffer())).toEqual(jpeg)
    expect([lines.length, response.headers.get('x-service-is-blurred')]).toEqual([1, null])
    expect(engine.asked.at(-1)?.request).toEqual({
      ...{ prompt: 'a red boat', width: 1024, height: 1024, count: 1, format: 'jpeg', safeMode: false },
    })
  })

  test.each([false, true])('the same key brings the same bytes, once charged; as bytes: %s', async return_binary => {
    engine.result = asIs
    const key = await service.key(1)
    const send = () =>
      charged(key, { ...body, return_binary }, '/image/generate', { 'idempotency-key': `k${return_binary}` })
    const [first, second] = [await send(), await send()]
    expect(second.response.headers.get('content-type')).toBe(first.response.headers.get('content-type'))
    expect(await second.response.text()).toBe(await first.response.text())
    expect([first.lines.length, second.lines.length]).toEqual([1, 0])
    expect(second.response.headers.get('idempotent-replayed')).toBe('true')
  })

  test('fewer images than asked for cost less', async () => {
    engine.result = () => [png]
    const { response, lines } = await charged(await service.key(1), { ...body, variants: 4 })
    expect([response.status, lines.map(({ units }) => units)]).toEqual([200, [1n]])
  })

  test.each([
    ['no image', () => []],
    ['more images', () => [png, png]],
    ['an image of another format', () => [jpeg]],
    ['a file that is not an image', () => [Buffer.from('<html>')]],
    ['an error', () => Promise.reject(new Error('down'))],
  ])('%s of the engine is not sold', async (_name, result) => {
    engine.result = result
    const { response, lines } = await charged(await service.key(1), body)
    expect([response.status, lines]).toEqual([500, []])
    expect(await service.store.read.selectFrom('hold').selectAll().execute()).toEqual([])
    service.logged.length = 0
  })
})

const refusals: [rule: string, body: object, status: number, says: string][] = [
  ['no prompt', { model: 'scripted' }, 400, 'prompt'],
  ['a prompt longer than the model takes', { ...body, prompt: 'x'.repeat(1_501) }, 400, '1500 at most'],
  ['a prompt longer than any takes', { ...body, prompt: 'x'.repeat(7_501) }, 400, '7500'],
  ['a side that is not a multiple', { ...body, width: 513 }, 400, 'multiple of 8'],
  ['a side too long', { ...body, height: 2_000 }, 400, '1280'],
  ['a format that the model does not make', { ...body, format: 'webp' }, 400, 'png, jpeg'],
  ['a format that there is not', { ...body, format: 'gif' }, 400, 'webp'],
  ['more steps than the model takes', { ...body, steps: 51 }, 400, 'scripted accepts 50 at most'],
  ['more steps than any model takes', { ...body, model: 'plain', steps: 1_001 }, 400, '1000'],
  ['no steps', { ...body, steps: 0 }, 400, 'steps'],
  ['five variants', { ...body, variants: 5 }, 400, '4'],
  ['bytes of several', { ...body, variants: 2, return_binary: true }, 400, 'one variant'],
  ['an unknown style', { ...body, style_preset: 'Anime' }, 400, 'Demo Poster, Demo Sketch'],
  ['a style of a model without styles', { ...body, model: 'plain', style_preset: 'Anime' }, 400, 'leave it out'],
  ['a seed of a model without seeds', { ...body, model: 'plain', seed: 3 }, 400, 'leave it out'],
  [
    'what shall not be seen, on a model that does not know',
    { ...body, model: 'plain', negative_prompt: 'x' },
    400,
    'leave',
  ],
  ['a ratio', { ...body, aspect_ratio: '1:1' }, 400, 'aspect_ratio'],
  ['a search', { ...body, enable_web_search: true }, 400, 'enable_web_search'],
  ['words inside the image', { ...body, embed_exif_metadata: true }, 400, 'embed_exif_metadata'],
  ['a model of another type', { ...body, model: 'demo-chat' }, 404, 'Specified model not found'],
  ['more than the credit', { ...body, variants: 2 }, 402, 'Insufficient'],
]
test.each(refusals)('§7.1 %s is refused, and nothing is charged', async (_rule, request, status, says) => {
  engine.result = asIs
  const asked = engine.asked.length
  const { response, lines } = await charged(await service.key(0.01), request)
  expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(says)])
  expect([lines, engine.asked.length - asked]).toEqual([[], 0])
})

test('§7.1 hints that a model cannot use, and a default seed, are accepted', async () => {
  const hints = { steps: 30, cfg_scale: 7, lora_strength: 50, hide_watermark: true, seed: 0, inpaint: null }
  const { response } = await charged(await service.key(1), { ...body, model: 'plain', ...hints })
  expect(response.status).toBe(200)
  expect(engine.asked.at(-1)?.request).not.toHaveProperty('seed')
  expect(engine.asked.at(-1)?.request).not.toHaveProperty('steps')
})

test('§7.1 as many steps as the model takes are passed on', async () => {
  await charged(await service.key(1), { ...body, steps: 50 })
  expect(engine.asked.at(-1)?.request).toMatchObject({ steps: 50 })
})

describe('§7.2 POST /images/generations', () => {
  test.each([
    ['nothing but a prompt', {}, { width: 1024, height: 1024, format: 'png' }],
    [
      'what OpenAI’s clients send',
      { n: 1, size: '1536x1024', quality: 'hd', style: 'vivid', user: 'ann' },
      { width: 1536 },
    ],
    ['nulls', { n: null, size: null, quality: null, response_format: null }, { height: 1024 }],
    ['another format', { output_format: 'jpeg' }, { format: 'jpeg' }],
  ])('takes %s', async (_name, change, seen) => {
    engine.result = ({ request }) => [request.format === 'jpeg' ? jpeg : png]
    const { response, lines } = await charged(await service.key(1), { ...body, ...change }, '/images/generations')
    const answer = SimpleImages.parse(await response.json())
    expect([response.status, Object.keys(answer.data[0] ?? {}), lines.length]).toEqual([200, ['b64_json'], 1])
    expect(engine.asked.at(-1)?.request).toMatchObject(seen)
  })

  test('an address is a data URL', async () => {
    const asked = { ...body, response_format: 'url' }
    const { response } = await charged(await service.key(1), asked, '/images/generations')
    expect(SimpleImages.parse(await response.json()).data).toEqual([
      { url: `data:image/png;base64,${png.toString('base64')}` },
    ])
  })

  test.each([
    ['two images', { n: 2 }, 'n'],
    ['another size', { size: '100x100' }, '1024x1024'],
    ['a format that the model does not make', { output_format: 'webp' }, 'png, jpeg'],
    ['a long prompt', { prompt: 'x'.repeat(1_501) }, '1500'],
  ])('refuses %s', async (_name, change, says) => {
    const { response, lines } = await charged(await service.key(1), { ...body, ...change }, '/images/generations')
    expect([response.status, await response.text(), lines]).toEqual([400, expect.stringContaining(says), []])
  })
})

test('§7.7 styles are those of the models', async () => {
  const response = await service.request('/api/v1/image/styles')
  expect(await response.json()).toEqual({ object: 'list', data: ['Demo Poster', 'Demo Sketch'] })
})

test('§6.1 a model of images states its limits and its price', async () => {
  const response = await service.request('/api/v1/models?type=image')
  const { data } = (await response.json()) as { data: { id: string; model_spec: object }[] }
  expect(data.find(({ id }) => id === 'demo-image')?.model_spec).toMatchObject({
    constraints: { promptCharacterLimit: 1_500, steps: { default: 1, max: 1 }, widthHeightDivisor: 8 },
    pricing: { generation: { usd: 0.01, diem: 0.01 } },
  })
})

test.each([
  [64, 128],
  [1_280, 8],
])('the demonstration draws %i by %i pixels, the same for the same words and seed', async (width, height) => {
  const key = await service.key(1)
  const draw = async (change: object = {}) => {
    const asked = { model: 'demo-image', prompt: 'A boat, seen from afar', width, height, variants: 2, ...change }
    const { response } = await charged(key, asked)
    return GeneratedImages.parse(await response.json()).images.map(image => Buffer.from(image, 'base64'))
  }
  const [first, variant] = await draw()
  if (!first || !variant) throw new Error('There are no two images.')
  expect([typeOfBytes(first), imageSize('png', first)]).toEqual(['png', { width, height }])
  // One chunk of data between the header's 33 bytes and the end's 12: each row is its filter and three bytes a pixel.
  expect(inflateSync(first.subarray(41, -16))).toHaveLength(height * (1 + 3 * width))
  const same = await draw()
  expect([same[0]?.equals(first), same[0]?.equals(variant)]).toEqual([true, false])
  for (const change of [{ seed: 5 }, { prompt: 'A car' }, { style_preset: 'Demo Sketch' }]) {
    expect((await draw(change))[0]?.equals(first)).toBe(false)
  }
})
