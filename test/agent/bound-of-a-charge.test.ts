/** Compares our maximum prices of embeddings and images with what our service charges for them. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { imageBound } from '#agent/prices/price-images.ts'
import { embeddingBound } from '#agent/prices/price-text.ts'
import { microUsd } from '#contract/money.ts'
import { EmbeddingRequest } from '#contract/operations/embeddings.ts'
import { GenerateImageRequest, SimpleImageRequest } from '#contract/operations/images.ts'
import { listModels, type ModelRecord } from '#contract/operations/models.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { EmbeddingModel, ImageModel, Model } from '#service/models/model.ts'
import { type OpenedService, openService } from '../service/open-service.ts'

/** Some hundred calls of a whole service. */
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const prices = fc.sample(fc.bigInt({ min: 0n, max: 9_000_000n }), { numRuns: 6, seed: 20_261_122 })
/** What the engine says that it counted; null where it says nothing. */
let reported: number | null = null
const partsOf = (input: EmbeddingRequest['input']) =>
  typeof input === 'string' || typeof input[0] === 'number' ? 1 : input.length
const embeddings: EmbeddingModel['engine'] = {
  carries: () => true,
  embed: async ({ input }) => ({ vectors: Array(partsOf(input)).fill([0.5, 0.25]), promptTokens: reported }),
}
const images: ImageModel['engine'] = {
  carries: () => true,
  generate: async ({ request }) => Array(request.count).fill(Buffer.from('89504e470d0a1a0a00', 'hex')),
}

let service: OpenedService
let records: readonly ModelRecord[]
let key: string
beforeAll(async () => {
  service = await openService({
    models: engines =>
      demoModels({ ...engines, embeddings, images }).flatMap((model: Model): Model[] => {
        if (model.type === 'embedding')
          return prices.map((inputPicoUsd, index) => ({
            ...{ ...model, id: `vectors-${index}`, traits: [], dimensions: 2, price: { inputPicoUsd } },
          }))
        if (model.type === 'image')
          return prices.map((price, index) => ({
            ...{ ...model, id: `images-${index}`, traits: [], price: { perImageMicroUsd: microUsd(price) } },
          }))
        return [model]
      }),
  })
  const listed = await service.request('/api/v1/models?type=all')
  records = listModels.answer.json.parse(await listed.json()).data
  key = await service.key(1_000_000)
})
afterAll(() => service.close())

const recordOf = (id: string): ModelRecord => {
  const record = records.find(each => each.id === id)
  if (!record) throw new Error('A model is not listed.')
  return record
}

async function chargedFor(path: string, body: object): Promise<bigint> {
  const sum = async () => {
    const rows = await service.store.read.selectFrom('entry').selectAll().execute()
    const all = (kind: string) => rows.filter(row => row.kind === kind).reduce((total, row) => total + row.amount, 0n)
    return all('CHARGE') - all('WRITE_OFF')
  }
  // The limits of a minute are not of interest here.
  service.clock.pass(120_000)
  const before = await sum()
  const answer = await service.post(path, body, key)
  await answer.text()
  expect(answer.status).toBe(200)
  return (await sum()) - before
}

const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 })
const anyToken = fc.integer({ min: 1, max: 100_000 })
const anyTokens = fc.array(anyToken, { minLength: 1, maxLength: 40 })
const anyInput = fc.oneof(
  anyText,
  fc.array(anyText, { minLength: 1, maxLength: 5 }),
  anyTokens,
  fc.array(anyTokens, { minLength: 1, maxLength: 5 }),
)

/** The most that an engine can honestly count: a token a byte, and a frame round each text. */
const mostOf = (part: unknown): number =>
  (typeof part === 'string' ? Buffer.byteLength(part) : (part as []).length) + 16
const mostCounted = (input: EmbeddingRequest['input']): number =>
  partsOf(input) === 1 && (typeof input === 'string' || typeof input[0] === 'number')
    ? mostOf(input)
    : (input as unknown[]).reduce<number>((sum, part) => sum + mostOf(part), 0)

const index = fc.nat({ max: prices.length - 1 })
const part = fc.option(fc.constantFrom(0, 0.5, 1), { nil: null })

test('no vectors are charged more than their bound, and the bound is what the most expensive honest count costs', async () => {
  await fc.assert(
    fc.asyncProperty(index, anyInput, part, async (which, input, counted) => {
      const body = { model: `vectors-${which}`, input } as EmbeddingRequest
      EmbeddingRequest.parse(body)
      reported = counted === null ? null : Math.floor(mostCounted(input as EmbeddingRequest['input']) * counted)
      const bound = embeddingBound(recordOf(body.model), body, records) ?? -1n
      const charged = await chargedFor('/embeddings', body)
      expect(charged).toBeLessThanOrEqual(bound)
      if (counted === 1) expect(charged).toBe(bound)
    }),
    { numRuns: 60 },
  )
})

test('images are charged what their bound says', async () => {
  await fc.assert(
    fc.asyncProperty(index, fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }), async (which, variants) => {
      const model = `images-${which}`
      const own = { model, prompt: 'a boat', variants }
      const ownBound = imageBound(recordOf(model), own, GenerateImageRequest, records)
      expect(await chargedFor('/image/generate', own)).toBe(ownBound)
      const simple = { model, prompt: 'a boat', n: 1 as const, quality: 'hd' as const }
      const simpleBound = imageBound(recordOf(model), simple, SimpleImageRequest, records)
      expect(await chargedFor('/images/generations', simple)).toBe(simpleBound)
    }),
    { numRuns: 25 },
  )
})

const priced = (pricing: object): ModelRecord => {
  const record = recordOf('images-0')
  return { ...record, model_spec: { ...record.model_spec, pricing: pricing as ModelRecord['model_spec']['pricing'] } }
}
const usd = (amount: number) => ({ usd: amount, diem: amount })
const steps = { '2x': usd(0.02), '4x': usd(0.08) }
const image = { model: 'images-0', prompt: 'a boat' }

test.each([
  ['its one price', { generation: usd(0.01) }, {}, 10_000n],
  ['each variant', { generation: usd(0.01) }, { variants: 3 }, 30_000n],
  ['less than a micro-USD, rounded up', { generation: usd(0.000001) }, { variants: 1 }, 1n],
  [
    'the most expensive size',
    { generation: usd(0.01), resolutions: { '1K': usd(0.02), '4K': usd(0.3) } },
    {},
    300_000n,
  ],
  ['the most expensive quality', { quality: { '1K': { low: usd(0.01), high: usd(0.2) } } }, {}, 200_000n],
  ['nothing that is known: no price', {}, {}, null],
  ['nothing that is known: a price that cannot be read', { generation: usd(1e-13) }, {}, null],
  ['a price that is written with an exponent', { generation: usd(1e-9) }, {}, 1n],
  ['nothing that is known: a price for each second beside', { generation: usd(1), per_second: usd(1) }, {}, null],
  ['its own price, beside that of larger images', { generation: usd(1), upscale: steps }, {}, 1_000_000n],
  ['nothing that is known: a price of something else beside', { generation: usd(1), input: usd(1) }, {}, null],
  ['nothing that is known: a search', { generation: usd(1) }, { enable_web_search: true }, null],
  ['nothing that is known: a member of another request', { generation: usd(1) }, { n: 4 }, null],
])('an image is bounded by %s', (_rule, pricing, changes, expected) => {
  const body = { ...image, ...changes } as Partial<GenerateImageRequest>
  expect(imageBound(priced(pricing), body, GenerateImageRequest)).toBe(expected)
})

test('vectors with an unknown member, or of a model without a price, have no bound', () => {
  const record = recordOf('vectors-0')
  const body = { model: record.id, input: 'a text' } as EmbeddingRequest
  expect(embeddingBound(record, { ...body, rerank: true } as EmbeddingRequest)).toBeNull()
  expect(embeddingBound(priced({}), body)).toBeNull()
})
