import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pricePerMillion } from '#contract/money.ts'
import { Embeddings } from '#contract/operations/embeddings.ts'
import type { EmbeddingCall, EmbeddingEngine, EmbeddingResult } from '#engines/ports/engine.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { EmbeddingModel, Model } from '#service/models/model.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

/** Answers as the test says, and records the calls. */
class ScriptedEmbeddings implements EmbeddingEngine {
  readonly carries = () => true
  asked: EmbeddingCall[] = []
  result: (call: EmbeddingCall) => Promise<EmbeddingResult> | EmbeddingResult = () => one

  async embed(call: EmbeddingCall): Promise<EmbeddingResult> {
    this.asked.push(call)
    return this.result(call)
  }
}

const one = { vectors: [[0.5, -0.25]], promptTokens: 7 }
const engine = new ScriptedEmbeddings()
const price = { inputPicoUsd: pricePerMillion('1') ?? 0n }

let service: OpenedService
beforeAll(async () => {
  service = await openService({
    models: engines => {
      const demo = demoModels(engines)
      const model = demo.find((each: Model): each is EmbeddingModel => each.type === 'embedding')
      if (!model) throw new Error('There is no model of embeddings.')
      const scripted = { ...model, traits: [], engine, price, dimensions: 2, maximumInputTokens: 100 }
      return [
        ...demo,
        { ...scripted, id: 'scripted', engineModel: 'inner' },
        { ...scripted, id: 'fixed', hasDimensions: false },
      ]
    },
  })
})
afterAll(async () => {
  await closeSound(service)
})

const body = { model: 'scripted', input: 'a text' }

async function charged(key: string, request: object) {
  const before = await service.store.read.selectFrom('entry').select('id').execute()
  const response = await service.post('/embeddings', request, key)
  const entries = await service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()
  const known = new Set(before.map(({ id }) => id))
  return { response, lines: entries.filter(({ id }) => !known.has(id)) }
}

describe('§9 embeddings', () => {
  test.each([
    ['float', undefined],
    ['base64', undefined],
    ['float', 'large'],
  ])('a large answer lets other requests have their turn (%s, %s)', async (format, idempotencyKey) => {
    const count = 300
    const width = 1_024
    const vectors = Array.from({ length: count }, (_, row) =>
      Array.from({ length: width }, (_, at) => row + at / width),
    )
    engine.result = () => ({ vectors, promptTokens: count })
    const request = { ...body, input: vectors.map(() => 'a'), encoding_format: format }
    const key = await service.key(1)
    let turns = 0
    const counting = setInterval(() => turns++, 0)
    const headers = {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
    }
    const response = await service.request('/api/v1/embeddings', {
      method: 'POST',
      headers,
      body: JSON.stringify(request),
    })
    clearInterval(counting)
    const { data, usage } = Embeddings.parse(await response.json())
    expect([data.length, data[299]?.index, usage.total_tokens]).toEqual([count, 299, count])
    if (format === 'float') expect(data[299]?.embedding).toEqual(vectors[299])
    else expect(Buffer.from(String(data[299]?.embedding), 'base64').readFloatLE(4)).toBeCloseTo(299 + 1 / width, 3)
    expect(turns).toBeGreaterThan(4)
  })

  test('a text becomes a vector, charged by tokens that the engine says', async () => {
    engine.result = () => one
    const { response, lines } = await charged(await service.key(1), { ...body, user: 'ann' })
    expect([response.status, Embeddings.parse(await response.json())]).toEqual([
      200,
      {
        object: 'list',
        model: 'scripted',
        data: [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }],
        usage: { prompt_tokens: 7, total_tokens: 7 },
      },
    ])
    expect(lines.map(({ sku, units, amount }) => [sku, units, amount])).toEqual([['embedding.input', 7n, 7n]])
    expect(response.headers.get('x-service-model-id')).toBe('scripted')
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('500')
    const { signal: _signal, ...asked } = engine.asked.at(-1) ?? {}
    expect(asked).toEqual({ input: 'a text', engineModel: 'inner' })
  })

  test('base64 is the bytes of 32-bit floats', async () => {
    const { response } = await charged(await service.key(1), { ...body, encoding_format: 'base64' })
    const { data } = Embeddings.parse(await response.json())
    const bytes = Buffer.from(String(data[0]?.embedding), 'base64')
    expect([bytes.length, bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([8, 0.5, -0.25])
  })

  test.each([null, 0, 1e12])('where an engine counts %s, we count, and the line says so', async promptTokens => {
    engine.result = () => ({ ...one, promptTokens })
    const { response, lines } = await charged(await service.key(1), { ...body, input: 'hello world' })
    expect(((await response.json()) as Embeddings).usage).toEqual({ prompt_tokens: 2, total_tokens: 2 })
    expect(lines.map(({ sku, units }) => [sku, units])).toEqual([['embedding.input.estimated', 2n]])
  })

  test('tokens of the model pass as they are, and count one each', async () => {
    engine.result = () => ({ ...one, promptTokens: null })
    const { lines } = await charged(await service.key(1), { ...body, input: [3, 4, 5] })
    expect(engine.asked.at(-1)?.input).toEqual([3, 4, 5])
    expect(lines.map(({ units }) => units)).toEqual([3n])
  })

  test('an engine that counts more than was held costs the service, not the caller', async () => {
    engine.result = () => ({ ...one, promptTokens: 1_000 })
    const { response, lines } = await charged(await service.key(1), body)
    expect(response.status).toBe(200)
    expect(lines.map(({ units }) => units)).toEqual([1_000n])
    const lost = await service.store.read.selectFrom('entry').select('amount').where('kind', '=', 'WRITE_OFF').execute()
    expect(lost.map(({ amount }) => amount)).toEqual([1_000n - 22n])
  })

  test('an engine that fails costs nothing', async () => {
    engine.result = () => Promise.reject(new Error('down'))
    const { response, lines } = await charged(await service.key(1), body)
    expect([response.status, lines]).toEqual([500, []])
    service.logged.length = 0
    expect(await service.store.read.selectFrom('hold').selectAll().execute()).toEqual([])
  })

  test('the same key brings the same bytes, once charged', async () => {
    engine.result = () => one
    const key = await service.key(1)
    const asked = engine.asked.length
    const send = () =>
      service.request('/api/v1/embeddings', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'idempotency-key': 'once-1' },
        body: JSON.stringify(body),
      })
    const [first, second] = [await send(), await send()]
    expect([first.status, second.status, await second.text()]).toEqual([200, 200, await first.text()])
    expect(engine.asked.length - asked).toBe(1)
  })
})

const refusals: [rule: string, body: object, status: number, says: string][] = [
  ['no input', { model: 'scripted' }, 400, 'input'],
  ['an empty text', { ...body, input: '' }, 400, 'input'],
  ['no texts', { ...body, input: [] }, 400, 'input'],
  ['an empty text among others', { ...body, input: ['a', ''] }, 400, 'input'],
  ['too many texts', { ...body, input: Array(2_049).fill('a') }, 400, '2048'],
  ['another format', { ...body, encoding_format: 'hex' }, 400, 'base64'],
  ['more dimensions than there are', { ...body, dimensions: 3 }, 400, '2 dimensions at most'],
  ['dimensions of a model without a choice', { ...body, model: 'fixed', dimensions: 1 }, 400, 'leave it out'],
  ['a text longer than the model takes', { ...body, input: 'word '.repeat(101) }, 400, '100 tokens'],
  ['one such text among others', { ...body, input: ['a', 'word '.repeat(101)] }, 400, '"path":["input",1]'],
  ['more tokens than the model takes', { ...body, input: Array(101).fill(1) }, 400, '100 tokens'],
  ['a model of another type', { ...body, model: 'demo-chat' }, 404, 'Specified model not found'],
  ['texts of more than the credit', { ...body, input: Array(200).fill('x'.repeat(80)) }, 402, 'Insufficient'],
]
test.each(refusals)('§9 %s is refused, and nothing is charged', async (_rule, request, status, says) => {
  const asked = engine.asked.length
  const { response, lines } = await charged(await service.key(0.01), request)
  expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(says.replaceAll('\\', ''))])
  expect([lines, engine.asked.length - asked]).toEqual([[], 0])
})

test('a model of embeddings states its limits and its price', async () => {
  const response = await service.request('/api/v1/models?type=embedding')
  const { data } = (await response.json()) as { data: { id: string; model_spec: object }[] }
  expect(data.find(({ id }) => id === 'demo-embedding')?.model_spec).toMatchObject({
    embeddingDimensions: 256,
    supportsCustomDimensions: true,
    maxInputTokens: 8_192,
    pricing: { input: { usd: 0.02, diem: 0.02 }, output: { usd: 0, diem: 0 } },
  })
})

test('the hold covers every count of the demonstration, whatever the texts', async () => {
  const key = await service.key(5)
  const texts = fc.array(fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' }), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(texts, async input => {
      const { response } = await charged(key, { model: 'demo-embedding', input })
      expect(response.status).toBe(200)
      const { data } = Embeddings.parse(await response.json())
      for (const { embedding } of data) expect(Math.hypot(...(embedding as number[]))).toBeCloseTo(1, 6)
      const lost = await service.store.read.selectFrom('entry').select('id').where('kind', '=', 'WRITE_OFF').execute()
      expect([data.length, lost.length]).toEqual([input.length, 1])
    }),
    { numRuns: 25 },
  )
})

test('texts that share words are nearer than others, also in fewer dimensions', async () => {
  const key = await service.key(1)
  const input = ['a cat sat on the mat', 'the cat sits on a mat', 'quarterly tax report of the company']
  for (const dimensions of [256, 64]) {
    const { response } = await charged(key, { model: 'demo-embedding', input, dimensions })
    const { data } = Embeddings.parse(await response.json())
    const [cat, cats, tax] = data.map(({ embedding }) => embedding as number[])
    expect(cat).toHaveLength(dimensions)
    expect(dot(cat, cats)).toBeGreaterThan(dot(cat, tax) + 0.2)
  }
})

const dot = (one: number[] = [], other: number[] = []) =>
  one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0)
