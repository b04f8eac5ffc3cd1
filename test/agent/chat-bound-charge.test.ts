/** Compares our maximum price of a chat with what our service charges for it. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { chatBound } from '#agent/prices/price-text.ts'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { listModels, type ModelRecord } from '#contract/operations/models.ts'
import type { TextModel } from '#service/models/model.ts'
import { openFixture } from '../service/chat-fixture.ts'
import { ScriptedChat, used } from '../service/chat-script.ts'
import { textModel } from '../service/models/example-models.ts'

const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** Some two hundred calls of a whole service. */
vi.setConfig({ testTimeout: 60_000 })

const engine = new ScriptedChat()
const capabilities = { supportsVision: true, supportsAudioInput: true, supportsMultipleImages: true }

/** Prices from nothing to dear ones with odd figures, contexts from tiny to large. */
const models: TextModel[] = fc
  .sample(
    fc.record({
      input: fc.bigInt({ min: 0n, max: 60_000_000n }),
      output: fc.bigInt({ min: 0n, max: 200_000_000n }),
      cached: fc.option(fc.bigInt({ min: 0n, max: 90_000_000n }), { nil: undefined }),
      context: fc.constantFrom(700, 4_096, 131_072),
      part: fc.constantFrom(1, 3, 50),
    }),
    { numRuns: 12, seed: 20_261_122 },
  )
  .map(({ input, output, cached, context, part }, index) => {
    const base = textModel()
    return {
      ...base,
      id: `model-${index}`,
      traits: [],
      engine,
      tier: 'XS' as const,
      contextTokens: context,
      maximumCompletionTokens: Math.ceil(context / part),
      price: {
        inputPicoUsd: input,
        outputPicoUsd: output,
        ...(cached === undefined ? {} : { cachedInputPicoUsd: cached }),
      },
      capabilities: { ...base.capabilities, ...capabilities },
    }
  })

const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 400 })
const parts = fc.constantFrom(
  { type: 'image_url', image_url: { url: image } },
  { type: 'input_audio', input_audio: { data: 'A'.repeat(4_000), format: 'mp3' } },
)
const words = anyText.map(text => ({ type: 'text', text }))
const around = { name: anyText, extra: anyText }
const withMedia = fc.array(fc.oneof({ weight: 4, arbitrary: words }, parts), { minLength: 1, maxLength: 3 })
const message = fc.oneof(
  fc.record({ role: fc.constant('user'), content: fc.oneof(anyText, withMedia), ...around }),
  fc.record({ role: fc.constant('system'), content: anyText, ...around }),
  fc.record({ role: fc.constant('user'), content: fc.oneof(anyText, withMedia) }),
)
const limit = fc.constantFrom(1, 20, 5_000, 1_000_000)
const anyBody = fc.record(
  {
    messages: fc.array(message, { minLength: 1, maxLength: 3 }),
    max_tokens: limit,
    max_completion_tokens: limit,
    n: fc.integer({ min: 1, max: 4 }),
    stream: fc.boolean(),
    user: anyText,
    metadata: fc.record({ note: anyText }),
    tools: fc.array(fc.record({ function: fc.record({ name: fc.constant('f'), description: anyText }) }), {
      maxLength: 2,
    }),
    service_parameters: fc.constant({ strip_thinking_response: true }),
  },
  { requiredKeys: ['messages'] },
)
/** As honest and as excessive as an engine can be; null where it reports nothing. */
const tokens = fc.constantFrom(0, 1, 300, 5_000, 200_000, 5_000_000)
const anyUsage = fc.option(fc.tuple(tokens, tokens, tokens), { nil: null })

let fixture: Awaited<ReturnType<typeof openFixture>>
let records: readonly ModelRecord[]
beforeAll(async () => {
  fixture = await openFixture({ models: () => models })
  const listed = await fixture.service.request('/api/v1/models?type=all')
  records = listModels.answer.json.parse(await listed.json()).data
})
afterAll(() => fixture.service.close())

test('no chat is charged more than its bound, whatever is asked, of whatever model, and whatever its engine reports', async () => {
  const customer = await fixture.customer(1_000_000)
  const chargedSoFar = async () => (await fixture.ledger(customer.account)).charged
  let charges = 0
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...models.map(({ id }) => id)), anyBody, anyUsage, async (id, changes, usage) => {
      // Neither the limits of a minute nor the block after failures are of interest here.
      fixture.service.clock.pass(120_000)
      const record = records.find(each => each.id === id)
      const body = { ...changes, model: id } as ChatCompletionRequest
      if (!record) throw new Error('A model is not listed.')
      ChatCompletionRequest.parse(body)
      const bound = chatBound(record, body, records)
      const reported = usage && { ...used(usage[0], usage[1]), prompt_tokens_details: { cached_tokens: usage[2] } }
      engine.play([{ text: 'ja '.repeat(50) }, ...(reported ? [{ usage: reported }] : [])])
      const before = await chargedSoFar()
      const answer = await fixture.chat(customer, body)
      await answer.text()
      const charged = (await chargedSoFar()) - before
      expect(await fixture.openHolds()).toBe(0)
      expect(bound).not.toBeNull()
      expect(charged).toBeLessThanOrEqual(bound ?? -1n)
      if (charged > 0n) charges++
    }),
    { numRuns: 150 },
  )
  expect(charges).toBeGreaterThan(30)
})
