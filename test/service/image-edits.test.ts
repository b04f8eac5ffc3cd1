import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { contentViolation } from '#contract/errors/errors.ts'
import { PackageMissing } from '#host/packages.ts'
import { closeSound } from './close-sound.ts'
import { type Body, form, type ImageFixture, openImageFixture } from './image-fixture.ts'
import { asItIs, colouredPng, type ImageCall, madeBytes } from './image-models.ts'

let fixture: ImageFixture
beforeAll(async () => {
  fixture = await openImageFixture()
})
beforeEach(() => {
  fixture.engine.result = asItIs
  fixture.engine.asked.length = 0
})
afterAll(async () => {
  await closeSound(fixture.service)
})

const requestOf = (call: ImageCall | undefined) => (call && 'request' in call ? call.request : call)

describe('§7.3 POST /image/edit', () => {
  const ways: [rule: string, body: () => Body][] = [
    ['base64', () => fixture.edit()],
    ['base64 in lines', () => fixture.edit({ image: fixture.base64.replaceAll(/(.{60})/g, '$1\r\n') })],
    ['a data URL', () => fixture.edit({ image: `data:image/png;base64,${fixture.base64}` })],
    ['an address', () => fixture.edit({ image: 'https://files.example/a.png' })],
    ['a file of a form', () => form({ model: 'editor', prompt: 'a red sky' }, [['image', fixture.imageFile]])],
    ['base64 in a form', () => form({ model: 'editor', prompt: 'a red sky', image: fixture.base64 }, [])],
    ['the older name of the model', () => fixture.edit({ model: undefined, modelId: 'editor' })],
    ['an unknown value', () => fixture.edit({ colour: 'blue' })],
  ]
  test.each(ways)('an image by %s', async (_rule, body) => {
    const { response, lines } = await fixture.send('/image/edit', body())
    expect([response.status, response.headers.get('content-type'), lines]).toEqual([
      200,
      'image/webp',
      [['image.edit', 40_000n]],
    ])
    expect(Buffer.from(await response.arrayBuffer())).toEqual(madeBytes.webp)
    expect(fixture.engine.asked).toMatchObject([
      {
        engineModel: 'inner-edit',
        request: { prompt: 'a red sky', format: 'webp', images: [{ width: 20, height: 10 }] },
      },
    ])
    const headers = ['x-service-model-id', 'x-service-is-blurred', 'x-ratelimit-limit-requests']
    expect(headers.map(name => response.headers.get(name))).toEqual(['editor', null, '20'])
  })

  test('every choice of the model reaches its engine, in a form too, and has its price', async () => {
    const choices = {
      aspect_ratio: '16:9',
      resolution: '2K',
      quality: 'high',
      output_format: 'jpg',
      safe_mode: 'false',
    }
    const body = form({ model: 'editor', prompt: 'x', ...choices }, [['image', fixture.imageFile]])
    const { response, lines } = await fixture.send('/image/edit', body)
    expect([response.status, response.headers.get('content-type'), lines]).toEqual([
      200,
      'image/jpeg',
      [['image.edit', 120_000n]],
    ])
    expect(requestOf(fixture.engine.asked[0])).toMatchObject({
      aspectRatio: '16:9',
      resolution: '2K',
      quality: 'high',
      format: 'jpeg',
    })
    expect(response.headers.get('x-service-is-blurred')).toBeNull()
  })

  test('the image’s own ratio is what auto means, and a resolution has its price alone', async () => {
    const { lines } = await fixture.send('/image/edit', fixture.edit({ aspect_ratio: 'auto', resolution: '2K' }))
    expect([requestOf(fixture.engine.asked[0]), lines]).toEqual([
      expect.not.objectContaining({ aspectRatio: expect.anything() }),
      [['image.edit', 80_000n]],
    ])
  })
})

describe('§7.4 POST /image/multi-edit', () => {
  test('two images in their order, by any way', async () => {
    const second = (await colouredPng(9, 9)).toString('base64')
    const body = { modelId: 'editor', prompt: 'both', images: ['https://files.example/a.png', second] }
    const { response, lines } = await fixture.send('/image/multi-edit', body)
    expect([response.status, lines]).toEqual([200, [['image.edit', 40_000n]]])
    expect(requestOf(fixture.engine.asked[0])).toMatchObject({ images: [{ width: 20 }, { width: 9 }] })
  })

  test.each([1, 2])('files of a form: %i', async count => {
    const body = form({ modelId: 'editor', prompt: 'both' }, Array(count).fill(['images', fixture.imageFile]))
    expect((await fixture.send('/image/multi-edit', body)).response.status).toBe(200)
    expect(requestOf(fixture.engine.asked[0])).toMatchObject({ images: { length: count } })
  })
})

describe('§7.5 POST /image/upscale', () => {
  test.each([
    [{}, 2, 'image.upscale.2x', 20_000n],
    [{ scale: 1.5 }, 1.5, 'image.upscale.2x', 20_000n],
    [{ scale: 2.01 }, 2.01, 'image.upscale.4x', 80_000n],
    [{ scale: 4 }, 4, 'image.upscale.4x', 80_000n],
  ])('%j', async (change, scale, sku, amount) => {
    const { response, lines } = await fixture.send('/image/upscale', {
      model: 'upscaler',
      image: fixture.base64,
      ...change,
    })
    expect([response.status, response.headers.get('content-type'), lines]).toEqual([200, 'image/png', [[sku, amount]]])
    expect(requestOf(fixture.engine.asked[0])).toMatchObject({ scale, image: { width: 20, height: 10 } })
    expect(requestOf(fixture.engine.asked[0])).not.toHaveProperty('enhance')
  })

  test('a form that enhances without a change of size', async () => {
    const fields = { model: 'upscaler', scale: '1', enhance: 'true', enhanceCreativity: '0.25', enhancePrompt: 'gold' }
    const { response } = await fixture.send('/image/upscale', form(fields, [['image', fixture.imageFile]]))
    expect([response.status, requestOf(fixture.engine.asked[0])]).toEqual([
      200,
      expect.objectContaining({ scale: 1, enhance: { creativity: 0.25, replication: 0.35, prompt: 'gold' } }),
    ])
  })
})

describe('§7.6 POST /image/background-remove', () => {
  const ways: [rule: string, body: () => Body][] = [
    ['base64', () => ({ model: 'cutter', image: fixture.base64 })],
    ['an address', () => ({ model: 'cutter', image_url: 'https://files.example/a.png' })],
    ['a file', () => form({ model: 'cutter' }, [['image', fixture.imageFile]])],
  ]
  test.each(ways)('an image by %s', async (_rule, body) => {
    const { response, lines } = await fixture.send('/image/background-remove', body())
    expect([response.status, response.headers.get('content-type'), lines]).toEqual([
      200,
      'image/png',
      [['image.background', 30_000n]],
    ])
    expect(fixture.engine.asked).toMatchObject([{ engineModel: 'inner-cut', image: { width: 20 } }])
  })
})

const paths = [
  ['/image/edit', () => fixture.edit(), 'Image edit failed'],
  ['/image/multi-edit', () => fixture.several(), 'Image edit failed'],
  ['/image/upscale', () => fixture.upscale(), 'Image upscaling failed'],
  ['/image/background-remove', () => ({ model: 'cutter', image: fixture.base64 }), 'Inference processing failed'],
] as const

describe.each(paths)('POST %s', (path, body, failed) => {
  test.each([
    ['no image', () => Buffer.from('<html>')],
    ['an image of another format', () => Buffer.from('GIF89a')],
    ['an error', () => Promise.reject(new Error('down'))],
  ])('%s of the engine is not sold', async (_name, result) => {
    fixture.engine.result = result
    const { response, lines } = await fixture.send(path, body())
    expect([response.status, await response.json(), lines]).toEqual([500, { error: failed }, []])
    expect(await fixture.service.store.read.selectFrom('hold').selectAll().execute()).toEqual([])
    expect(fixture.service.logged.pop()?.level).toBe('warn')
  })

  test('a format whose package is missing is free and not retryable; the log says what to install', async () => {
    const problem =
      'Reading an image of the type jpeg needs the package sharp, which does not load. Run `npm install sharp`.'
    fixture.engine.result = () => Promise.reject(new PackageMissing(problem))
    const { response, lines } = await fixture.send(path, body())
    expect([response.status, response.headers.get('x-should-retry'), lines]).toEqual([503, 'false', []])
    expect(await response.json()).toEqual({
      error:
        'This service reads and writes only PNG images. Send a PNG and request one, or ask its operator to enable other formats.',
    })
    expect(fixture.service.logged.pop()).toMatchObject({ level: 'warn', facts: { err: { message: problem } } })
  })

  test('what the engine says of the content is the answer, and free', async () => {
    fixture.engine.result = () => Promise.reject(contentViolation({ error: 'no' }))
    const { response, lines } = await fixture.send(path, body())
    expect([response.status, lines, response.headers.get('x-service-is-content-violation')]).toEqual([422, [], 'true'])
  })

  test('the same key brings the same bytes, once charged, and another image under it is refused', async () => {
    const key = await fixture.service.key(1)
    const again = (change: object = {}) =>
      fixture.send(
        path,
        { ...body(), ...change },
        { key, headers: { 'idempotency-key': `key${path.replaceAll('/', '_')}` } },
      )
    const [first, second] = [await again(), await again()]
    expect(Buffer.from(await second.response.arrayBuffer())).toEqual(Buffer.from(await first.response.arrayBuffer()))
    expect([first, second].map(({ lines, response }) => [lines.length, response.headers.get('content-type')])).toEqual([
      [1, first.response.headers.get('content-type')],
      [0, first.response.headers.get('content-type')],
    ])
    expect(second.response.headers.get('idempotent-replayed')).toBe('true')
    expect((await again({ prompt: 'another', model: 'demo' })).response.status).toBe(422)
  })

  test('a request without credentials is told how to pay, and another content type is refused', async () => {
    const headers = { 'content-type': 'application/json' }
    const unknown = await fixture.service.request(`/api/v1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body()),
    })
    expect([unknown.status, unknown.headers.get('payment-required')]).toEqual([402, expect.any(String)])
    const plain = await fixture.send(path, body(), { headers: { 'content-type': 'text/plain' } })
    expect(plain.response.status).toBe(415)
  })
})

test('brief §8.2 twenty a minute for each model', async () => {
  const key = await fixture.service.key(5)
  const statuses: number[] = []
  for (let count = 0; count < 21; count++)
    statuses.push((await fixture.send('/image/edit', fixture.edit(), { key })).response.status)
  expect(statuses).toEqual([...Array(20).fill(200), 429])
  expect((await fixture.send('/image/upscale', fixture.upscale(), { key })).response.status).toBe(200)
})

test('§6.1 models that begin with images state their choices and prices', async () => {
  const listed = async (type: string) => {
    const { data } = (await (await fixture.service.request(`/api/v1/models?type=${type}`)).json()) as {
      data: { id: string }[]
    }
    return data
  }
  expect((await listed('inpaint')).find(({ id }) => id === 'editor')).toMatchObject({
    type: 'inpaint',
    model_spec: {
      constraints: {
        ...{ promptCharacterLimit: 100, aspectRatios: ['1:1', '16:9'], combineImages: true },
        ...{ resolutions: ['1K', '2K'], defaultResolution: '1K', qualities: ['high'] },
      },
      pricing: {
        inpaint: { usd: 0.04, diem: 0.04 },
        resolutions: { '1K': { usd: 0.04 }, '2K': { usd: 0.08 } },
        quality: { '2K': { high: { usd: 0.12 } } },
      },
    },
  })
  expect((await listed('upscale')).find(({ id }) => id === 'upscaler')).toMatchObject({
    model_spec: { pricing: { upscale: { '2x': { usd: 0.02 }, '4x': { usd: 0.08 } } } },
  })
  expect((await listed('all')).map(({ id }) => id)).not.toContain('cutter')
})
