import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addUsd, microUsd } from '#contract/money.ts'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { askedTokens } from '#engines/ports/engine.ts'
import { countPromptTokens } from '#engines/tokens/count-tokens.ts'
import { type Affordable, chatLines, estimateChat } from '#service/capabilities/chat/price-chat.ts'
import { type TextPrice, usefulCompletionTokens } from '#service/models/model.ts'
import { textModel } from '../models/example-models.ts'

const usage = (prompt: number, completion: number, cached?: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
})
const request = (change: object = {}) =>
  ChatCompletionRequest.parse({ model: 'demo-chat', messages: [{ role: 'user', content: 'hello' }], ...change })
const total = (price: TextPrice, used: ReturnType<typeof usage>): bigint =>
  addUsd(...chatLines({ price }, used).map(line => line.amount))

const price: TextPrice = { inputPicoUsd: 150_000n, outputPicoUsd: 600_000n, cachedInputPicoUsd: 15_000n }

test('a charge has a line for each kind of token, rounded up once over all', () => {
  expect(chatLines({ price }, usage(1_001, 3, 1_000))).toEqual([
    { sku: 'chat.input', units: 1n, unitPricePicoUsd: 150_000n, amount: 1n },
    { sku: 'chat.input.cached', units: 1_000n, unitPricePicoUsd: 15_000n, amount: 15n },
    { sku: 'chat.output', units: 3n, unitPricePicoUsd: 600_000n, amount: 1n },
  ])
})

test.each([
  ['one token costs a micro-USD', usage(1, 0), 1n],
  ['a million of each', usage(1_000_000, 1_000_000), 750_000n],
  ['nothing used costs nothing', usage(0, 0), 0n],
  ['more cached tokens than there are', usage(10, 0, 99), 1n],
])('%s', (_rule, used, amount) => {
  expect(total(price, used)).toBe(amount)
})

test('without a price for cached tokens they cost the input price', () => {
  const plain = { inputPicoUsd: 150_000n, outputPicoUsd: 600_000n }
  expect(total(plain, usage(1_000_000, 0, 1_000_000))).toBe(150_000n)
})

const picoUsd = fc.bigInt({ min: 0n, max: 200_000_000n })
const anyPrice = fc.record({ inputPicoUsd: picoUsd, outputPicoUsd: picoUsd, cachedInputPicoUsd: picoUsd })
const tokens = fc.nat(2_000_000)

test('a charge grows with usage and is never nothing when something billable was used', () => {
  fc.assert(
    fc.property(anyPrice, tokens, tokens, fc.nat(1_000), fc.nat(1_000), (each, prompt, completion, more, andMore) => {
      const before = total(each, usage(prompt, completion))
      expect(total(each, usage(prompt + more, completion + andMore))).toBeGreaterThanOrEqual(before)
      const billable = (prompt > 0 && each.inputPicoUsd > 0n) || (completion > 0 && each.outputPicoUsd > 0n)
      expect(before > 0n).toBe(billable)
    }),
  )
})

const anyRequest = fc
  .record({
    content: fc.string({ maxLength: 400, unit: 'binary' }),
    max_tokens: fc.option(fc.integer({ min: 1, max: 40_000 }), { nil: undefined }),
    n: fc.option(fc.integer({ min: 1, max: 16 }), { nil: undefined }),
  })
  .map(({ content, ...rest }) => request({ messages: [{ role: 'user', content }], ...rest }))

test('a hold covers every usage within its bounds, and nothing is held that is not there', () => {
  fc.assert(
    fc.property(
      anyPrice,
      anyRequest,
      fc.bigInt({ min: 0n, max: 50_000_000n }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (each, asked, available, part, cachedPart) => {
        const model = textModel({ price: each })
        const estimate = estimateChat(model, asked, microUsd(available))
        if ('needed' in estimate) {
          expect(estimate.needed).toBeGreaterThan(available)
          return
        }
        expect(estimate.hold).toBeLessThanOrEqual(available)
        expect(estimate.maxCompletionTokens).toBeGreaterThan(0)
        expect(estimate.maxPromptTokens).toBeGreaterThanOrEqual(countPromptTokens(asked))
        const prompt = Math.floor(estimate.maxPromptTokens * part)
        const used = usage(prompt, Math.floor(estimate.maxCompletionTokens * part), Math.floor(prompt * cachedPart))
        expect(total(each, used)).toBeLessThanOrEqual(estimate.hold)
        const whole = usage(estimate.maxPromptTokens, estimate.maxCompletionTokens)
        expect(total(each, whole)).toBeLessThanOrEqual(estimate.hold)
      },
    ),
    { numRuns: 300 },
  )
})

function affordable(change: object, availableMicroUsd: number, model = textModel()): Affordable {
  const estimate = estimateChat(model, request(change), microUsd(availableMicroUsd))
  if ('needed' in estimate) throw new Error(`Needs ${estimate.needed}.`)
  return estimate
}

test('a maximum that was given is covered whole, once for every choice', () => {
  expect(affordable({ max_tokens: 1_000 }, 5_000_000).maxCompletionTokens).toBe(1_000)
  expect(affordable({ max_tokens: 1_000, n: 4 }, 5_000_000).maxCompletionTokens).toBe(4_000)
  expect(estimateChat(textModel(), request({ max_tokens: 10_000 }), microUsd(5_000))).toEqual({
    needed: expect.toSatisfy((needed: bigint) => needed > 6_000n),
  })
})

test('without a maximum at most a fifth of the credit is held', () => {
  const estimate = affordable({}, 10_000)
  expect(estimate.hold).toBeLessThanOrEqual(2_000n)
  expect(estimate.maxCompletionTokens).toBeGreaterThan(3_000)
})

test('with plenty of credit the model decides', () => {
  expect(affordable({}, 100_000_000).maxCompletionTokens).toBe(textModel().maximumCompletionTokens)
  expect(affordable({ max_tokens: 1_000_000 }, 100_000_000).maxCompletionTokens).toBe(
    textModel().maximumCompletionTokens,
  )
})

test('little credit still buys a useful answer, and less than that nothing', () => {
  expect(affordable({}, 250).maxCompletionTokens).toBe(usefulCompletionTokens)
  expect(estimateChat(textModel(), request(), microUsd(100))).toHaveProperty('needed')
})

test('a prompt that fills the context leaves the answer what is left', () => {
  const model = textModel({ contextTokens: 2_000, maximumCompletionTokens: 1_500 })
  const words = { messages: [{ role: 'user', content: 'word '.repeat(1_500) }] }
  const estimate = affordable(words, 5_000_000, model)
  expect(estimate.maxCompletionTokens).toBeGreaterThan(200)
  expect(estimate.maxCompletionTokens).toBeLessThan(300)
  expect(estimate.maxPromptTokens).toBe(2_000)
})

test.each([
  ['a short one, around which the template adds most', 'hello', 8_192, 40],
  ['a long one, of which another tokenizer makes more', 'word '.repeat(3_000), 8_192, 3_700],
])('the longest answer fits into the context beside the engine’s own count of %s', (_prompt, content, context, own) => {
  const model = textModel({ contextTokens: context, maximumCompletionTokens: context })
  const { maxCompletionTokens } = affordable({ messages: [{ role: 'user', content }] }, 100_000_000, model)
  expect(maxCompletionTokens).toBeLessThanOrEqual(context - own)
  expect(maxCompletionTokens).toBeGreaterThan((context - own) * 0.9)
})

test('a prompt beyond the context is refused as OpenAI clients know it', () => {
  const model = textModel({ contextTokens: 1_000, maximumCompletionTokens: 500 })
  const words = request({ messages: [{ role: 'user', content: 'word '.repeat(1_500) }] })
  expect(() => estimateChat(model, words, microUsd(5_000_000))).toThrow(
    expect.objectContaining({
      status: 400,
      body: { error: expect.objectContaining({ code: 'context_length_exceeded' }) },
    }),
  )
})

test.each([
  [{ max_tokens: 5 }, 5],
  [{ max_completion_tokens: 6 }, 6],
  [{ maxCompletionTokens: 7 }, 7],
  [{ max_tokens: 9, max_completion_tokens: 8 }, 8],
  [{ maxCompletionTokens: -1 }, undefined],
  [{ maxCompletionTokens: '9' }, undefined],
  [{}, undefined],
])('%j asks for %s', (change, asked) => {
  expect(askedTokens(request(change))).toBe(asked)
})
