/** Compares our maximum price of a Response with what our service charges for it. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { responseBound } from '#agent/prices/price-text.ts'
import { listModels, type ModelRecord } from '#contract/operations/models.ts'
import { ResponsesRequest } from '#contract/operations/responses.ts'
import type { TextModel } from '#service/models/model.ts'
import { openFixture } from '../service/chat-fixture.ts'
import { ScriptedChat, used } from '../service/chat-script.ts'
import { textModel } from '../service/models/example-models.ts'

/** Some hundred calls of a whole service. */
vi.setConfig({ testTimeout: 60_000 })

const engine = new ScriptedChat()
const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

const models: TextModel[] = fc
  .sample(
    fc.record({
      input: fc.bigInt({ min: 0n, max: 60_000_000n }),
      output: fc.bigInt({ min: 0n, max: 200_000_000n }),
      context: fc.constantFrom(900, 4_096, 131_072),
    }),
    { numRuns: 8, seed: 20_261_122 },
  )
  .map(({ input, output, context }, index) => {
    const base = textModel()
    return {
      ...{ ...base, id: `model-${index}`, traits: [], engine, tier: 'XS' as const },
      ...{ contextTokens: context, maximumCompletionTokens: Math.ceil(context / 3) },
      price: { inputPicoUsd: input, outputPicoUsd: output },
      capabilities: { ...base.capabilities, supportsVision: true, supportsMultipleImages: true },
    }
  })

const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 300 })
const shortText = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 })
const words = anyText.map(text => ({ type: 'input_text', text }))
const seen = fc.constant({ type: 'input_image', image_url: image })
const said = fc.record({
  role: fc.constantFrom('user', 'system', 'developer', 'assistant'),
  content: fc.oneof(anyText, fc.array(words, { minLength: 1, maxLength: 2 })),
})
const shown = fc.record({
  role: fc.constant('user'),
  content: fc.array(fc.oneof({ weight: 3, arbitrary: words }, seen), { minLength: 1, maxLength: 3 }),
})
/** Many of the smallest, because what is written round each is what a bound may forget. */
const called = fc.record({
  ...{ type: fc.constant('function_call'), call_id: shortText, name: fc.constant('f'), arguments: shortText },
})
const returned = fc.record({ type: fc.constant('function_call_output'), call_id: shortText, output: shortText })
const input = fc.oneof(
  anyText,
  fc.array(fc.oneof(said, shown), { minLength: 1, maxLength: 3 }),
  fc.array(fc.oneof(said, called, returned), { minLength: 1, maxLength: 12 }),
)
const tool = fc.record({ type: fc.constant('function'), name: fc.constant('f'), description: shortText })
const anyBody = fc.record(
  {
    input,
    instructions: anyText,
    max_output_tokens: fc.constantFrom(1, 20, 5_000, 1_000_000),
    stream: fc.boolean(),
    tools: fc.array(tool, { maxLength: 6 }),
    reasoning: fc.record({ effort: fc.constantFrom('low', 'high') }),
    text: fc.constantFrom({ format: { type: 'text' } }, { format: { type: 'json_schema', name: 's', schema: {} } }),
    service_parameters: fc.constant({ strip_thinking_response: true }),
  },
  { requiredKeys: ['input'] },
)
const tokens = fc.constantFrom(0, 1, 300, 5_000, 200_000, 5_000_000)
const anyUsage = fc.option(fc.tuple(tokens, tokens), { nil: null })

let fixture: Awaited<ReturnType<typeof openFixture>>
let records: readonly ModelRecord[]
beforeAll(async () => {
  fixture = await openFixture({ models: () => models })
  const listed = await fixture.service.request('/api/v1/models?type=all')
  records = listModels.answer.json.parse(await listed.json()).data
})
afterAll(() => fixture.service.close())

const recordOf = (id: string): ModelRecord => {
  const record = records.find(each => each.id === id)
  if (!record) throw new Error('A model is not listed.')
  return record
}

test('no response is charged more than its bound, whatever is asked and whatever its engine reports', async () => {
  const customer = await fixture.customer(1_000_000)
  let charges = 0
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...models.map(({ id }) => id)), anyBody, anyUsage, async (id, changes, usage) => {
      // Neither the limits of a minute nor the block after failures are of interest here.
      fixture.service.clock.pass(120_000)
      const body = ResponsesRequest.parse({ ...changes, model: id })
      const bound = responseBound(recordOf(id), body, records)
      engine.play([{ text: 'ja '.repeat(50) }, ...(usage ? [{ usage: used(usage[0], usage[1]) }] : [])])
      const before = (await fixture.ledger(customer.account)).charged
      const answer = await fixture.service.post('/responses', body, customer.key)
      await answer.text()
      const charged = (await fixture.ledger(customer.account)).charged - before
      expect(bound).not.toBeNull()
      expect(charged).toBeLessThanOrEqual(bound ?? -1n)
      if (charged > 0n) charges++
    }),
    { numRuns: 150 },
  )
  expect(charges).toBeGreaterThan(50)
})

test.each([
  ['a search', { web_search: true }],
  ['a search as a tool', { tools: [{ type: 'web_search' }] }],
  ['another server’s tool', { tools: [{ type: 'code_interpreter' }] }],
  ['different models', { fallbacks: [{ model: 'model-1' }] }],
  ['a search among the options', { service_parameters: { enable_web_search: 'auto' } }],
  ['a search behind the name', { model: 'model-0:enable_web_search=on' }],
  ['a longer cache', { input: [{ role: 'user', content: 'x', cache_control: { ttl: '1h' } }] }],
  ['an unknown member', { background: true }],
])('a response has no bound with %s', (_rule, changes) => {
  const body = ResponsesRequest.parse({ model: 'model-0', input: 'x', ...changes })
  expect(responseBound(recordOf('model-0'), body, records)).toBeNull()
})
