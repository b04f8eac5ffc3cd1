import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addUsd, microUsd, priceLines } from '#contract/money.ts'
import { VideoQueueRequest, type VideoQuoteRequest } from '#contract/operations/video.ts'
import { priceVideo, settledRequest } from '#service/capabilities/video/quote-video.ts'
import { videoModel } from '../models/example-models.ts'

const model = videoModel()

test.each([
  ['the default resolution, with sound', { duration: '5s' }, 125_000n],
  ['without sound', { duration: '5s', audio: false }, 100_000n],
  ['Auto is five seconds', { duration: 'Auto', audio: false }, 100_000n],
  ['1 gen too', { duration: '1 gen', audio: false }, 100_000n],
  ['the most expensive stays below a USD', { duration: '10s', resolution: '1080p' }, 850_000n],
  ['the cheapest', { duration: '2s', resolution: '360p', audio: false }, 30_000n],
] as const)('%s', (_rule, change, total) => {
  const quoted = priceVideo(model, { model: model.id, ...change })
  expect(quoted.total).toBe(total)
  expect(addUsd(...quoted.lines.map(line => line.amount))).toBe(total)
})

test('sound is a line of its own', () => {
  expect(priceVideo(model, { model: model.id, duration: '2s' }).lines).toEqual([
    { sku: 'video.second.480p', units: 2n, unitPricePicoUsd: 20_000_000_000n, amount: 40_000n },
    { sku: 'video.audio.second', units: 2n, unitPricePicoUsd: 5_000_000_000n, amount: 10_000n },
  ])
})

test('a model without a choice of resolution has one price', () => {
  const plain = videoModel({
    constraints: { ...model.constraints, resolutions: [], audio: false },
    price: { perSecondMicroUsd: { '': microUsd(7) }, audioPerSecondMicroUsd: microUsd(3) },
  })
  expect(priceVideo(plain, { model: plain.id, duration: '3s' }).total).toBe(21n)
})

test('a resolution without a price is never free', () => {
  expect(() => priceVideo(model, { model: model.id, duration: '3s', resolution: '4k' })).toThrow(/no price/)
})

const { durations, resolutions, aspect_ratios: ratios } = model.constraints
const anyInputs = fc.record(
  {
    duration: fc.constantFrom(...durations),
    resolution: fc.constantFrom(...resolutions),
    aspect_ratio: fc.constantFrom(...ratios),
    audio: fc.boolean(),
  },
  { requiredKeys: ['duration'] },
)

test('what was quoted is charged, and the lines can be priced again', () => {
  fc.assert(
    fc.property(anyInputs, fc.string({ minLength: 1 }), (inputs, prompt) => {
      const queued = VideoQueueRequest.parse({ model: model.id, prompt, ...inputs })
      const quoted = priceVideo(model, { model: model.id, ...inputs } as VideoQuoteRequest)
      expect(priceVideo(model, queued)).toEqual(quoted)
      expect(priceVideo(model, settledRequest(model, queued))).toEqual(quoted)
      expect(priceLines(quoted.lines)).toEqual(quoted.lines.map(line => line.amount))
      expect(quoted.total).toBeGreaterThan(0n)
      expect(quoted.total).toBeLessThan(1_000_000n)
    }),
  )
})
