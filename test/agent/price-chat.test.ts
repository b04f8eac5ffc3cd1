import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chatBound } from '#agent/prices/price-text.ts'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { ModelRecord } from '#contract/operations/models.ts'
import { canonicalJson } from '#contract/wire/json.ts'

const usd = (amount: number) => ({ usd: amount, diem: amount })
const plain = { input: usd(1), output: usd(2) }

const record = (spec: object = {}) =>
  ModelRecord.parse({
    id: 'm',
    object: 'model',
    owned_by: 'x',
    type: 'text',
    model_spec: {
      privacy: 'private',
      availableContextTokens: 1_000_000,
      maxCompletionTokens: 100,
      pricing: plain,
      ...spec,
    },
  })

/** As a program sends it: what the schema does not take never gets as far as a price. */
const chat = (changes: object = {}) => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...changes }
  ChatCompletionRequest.parse(body)
  return body as ChatCompletionRequest
}
const withParts = (...content: object[]) => chat({ messages: [{ role: 'user', content }] })
const bound = (changes: object = {}, spec: object = {}) => chatBound(record(spec), chat(changes))

const long = 'x'.repeat(100_000)
const image = `data:image/png;base64,${long}`
const text = { type: 'text', text: 'hi' }

// An input token costs one micro-USD here, and an output token two.
describe('text counts by its bytes wherever it is', () => {
  const message = (members: object) => ({ messages: [{ role: 'assistant', content: 'hi', ...members }] })
  const tool = (parameters: object) => ({ tools: [{ type: 'function', function: { name: 'f', parameters } }] })
  test.each([
    ['a member url of a tool’s parameters', tool({ url: long })],
    ['a member data of a tool’s parameters', tool({ data: long })],
    ['a member file_data of a tool’s parameters', tool({ file_data: long })],
    ['parameters that look like a content part', tool({ content: [{ type: 'image_url', image_url: { url: image } }] })],
    ['data of a reasoning detail', message({ reasoning_details: [{ type: 'x', data: long }] })],
    ['a member url of a message', message({ url: image })],
    ['a member data of a call’s arguments', message({ tool_calls: [{ function: { arguments: long } }] })],
    ['a schema of the answer', { response_format: { type: 'json_schema', json_schema: { url: long } } }],
    ['a member that goes into no prompt by itself', { metadata: { data: long } }],
    [
      'a medium of another kind beside a text part',
      { messages: [{ role: 'user', content: [{ ...text, image_url: { url: image } }] }] },
    ],
    [
      'a second member of an image',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: image, data: long } }] }] },
    ],
    [
      'an image URL that is not an image',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: long } }] }] },
    ],
  ])('%s', (_rule, changes) => {
    expect(bound(changes)).toBeGreaterThanOrEqual(BigInt(long.length))
  })

  test('a character of three bytes is three', () => {
    const content = (unit: string) => ({ messages: [{ role: 'user', content: unit.repeat(1_000) }] })
    expect(Number(bound(content('€'))) - Number(bound(content('e')))).toBe(2_000)
  })
})

describe('media fill the context, because what they are in tokens is the service’s to say', () => {
  const unbounded = [
    ['an image', { type: 'image_url', image_url: { url: image } }],
    ['sound', { type: 'input_audio', input_audio: { data: long, format: 'wav' } }],
    ['a film', { type: 'video_url', video_url: { url: 'https://x.example/a.mp4' } }],
    ['a file', { type: 'file', file: { file_data: long } }],
  ] as const
  test.each(unbounded)('%s fills the context', (_kind, part) => {
    expect(chatBound(record({ availableContextTokens: 50_000 }), withParts(text, part))).toBe(50_200n)
  })
  test.each(unbounded)('%s has no bound at a model that does not tell its context', (_kind, part) => {
    expect(chatBound(record({ availableContextTokens: undefined }), withParts(text, part))).toBeNull()
    expect(chatBound(record({ availableContextTokens: 0 }), withParts(text, part))).toBeNull()
  })
  test('text that is longer than the context counts as long as it is', () => {
    const body = withParts({ ...text, text: long }, unbounded[0][1])
    expect(chatBound(record({ availableContextTokens: 50_000 }), body)).toBeGreaterThan(100_000n)
  })
})

describe('a character fills the context, because only the service knows how long its text is', () => {
  const spec = { availableContextTokens: 50_000 }
  test.each([
    ['named in the body', { service_parameters: { character_slug: 'c' } }],
    ['named behind the model', { model: 'm:character_slug=c' }],
    ['called like what is switched off', { service_parameters: { character_slug: 'off' } }],
    ['behind another option', { model: 'm:disable_thinking=true&character_slug=c' }],
  ])('%s', (_rule, changes) => {
    expect(bound(changes, spec)).toBe(50_200n)
    expect(bound(changes, { availableContextTokens: undefined })).toBeNull()
  })
  test('its searches still have no bound', () => {
    expect(bound({ model: 'm:character_slug=c&enable_web_search=on' }, spec)).toBeNull()
  })
})

describe('the highest price and the largest limit count', () => {
  const million = { availableContextTokens: 1_000_000, maxCompletionTokens: 1_000_000 }
  const extended = { context_token_threshold: 200_000, ...plain }
  const video = { messages: [{ role: 'user', content: [{ type: 'video_url', video_url: { url: 'u' } }] }] }
  test.each([
    ['input and output', plain, 3],
    ['writing into the cache is dearer than reading', { ...plain, cache_write: usd(1.25) }, 3.25],
    ['a dearer price of what is cached', { ...plain, cache_input: usd(4) }, 6],
    ['a cheaper one changes nothing', { ...plain, cache_input: usd(0.1), cache_write: usd(0.5) }, 3],
    ['input of a long prompt', { ...plain, extended: { ...extended, input: usd(5) } }, 7],
    ['output of a long prompt', { ...plain, extended: { ...extended, output: usd(5) } }, 6],
    ['writing a long prompt into the cache', { ...plain, extended: { ...extended, cache_write: usd(9) } }, 11],
  ])('%s', (_rule, pricing, expected) => {
    expect(bound(video, { ...million, pricing })).toBe(BigInt(expected * 1_000_000))
  })
  test('an unreadable price counts as unknown', () => {
    expect(bound({}, { pricing: { ...plain, cache_write: usd(1e-7) } })).toBeNull()
  })

  const film1 = (changes: object, spec: object = {}) =>
    Number(bound({ ...video, ...changes }, { availableContextTokens: 50_000, ...spec })) - 50_000
  test.each([
    ['the older name of the limit', { max_tokens: 7 }, {}, 14],
    ['the newer name', { max_completion_tokens: 7 }, {}, 14],
    ['the older one where it is larger', { max_tokens: 9, max_completion_tokens: 7 }, {}, 18],
    ['the newer one where it is larger', { max_tokens: 7, max_completion_tokens: 9 }, {}, 18],
    ['every choice', { max_tokens: 7, n: 3 }, {}, 42],
    ['the model’s own limit', {}, {}, 200],
    ['its context where it tells no limit', {}, { maxCompletionTokens: undefined }, 100_000],
    ['a limit of nothing is none', {}, { maxCompletionTokens: 0 }, 100_000],
  ])('limit: %s', (_rule, changes, spec, expected) => {
    expect(film1(changes, spec)).toBe(expected)
  })
  test('no limit anywhere has no bound', () => {
    expect(bound({}, { maxCompletionTokens: undefined, availableContextTokens: undefined })).toBeNull()
  })
})

describe('of models that may answer the most expensive counts', () => {
  const retired = (replacementModelId?: string, autoRemap = true) => ({
    deprecation: { autoRemap, date: '2026-12-01', removesAt: '2027-01-01', replacementModelId },
  })
  const named = (id: string, spec: object = {}) => ({ ...record(spec), id })
  const dear = { pricing: { input: usd(1), output: usd(50) } }
  const boundAmong = (spec: object, ...others: ModelRecord[]) => {
    const model = record(spec)
    return chatBound(model, chat(), [model, ...others])
  }
  const alone = Number(bound())
  test.each([
    ['a dearer replacement', [named('next', dear)], alone + 100 * 48],
    ['a cheaper one', [named('next', { pricing: { input: usd(0.1), output: usd(1) } })], alone],
    ['one with a longer answer', [named('next', { maxCompletionTokens: 1_000 })], alone + 900 * 2],
    ['a replacement of the replacement', [named('next', retired('last')), named('last', dear)], alone + 100 * 48],
    ['two that replace each other', [named('next', { ...retired('m'), ...dear })], alone + 100 * 48],
  ])('%s', (_rule, others, expected) => {
    expect(boundAmong(retired('next'), ...others)).toBe(BigInt(expected))
  })
  test.each([
    ['it is not listed', retired('next'), []],
    ['nobody says which it is', retired(), [named('next')]],
    ['its price is not known', retired('next'), [named('next', { pricing: undefined })]],
    ['it has no limit', retired('next'), [named('next', { maxCompletionTokens: 0, availableContextTokens: 0 })]],
  ])('no bound where a replacement is not known: %s', (_rule, spec, others) => {
    expect(boundAmong(spec, ...others)).toBeNull()
  })
  test('a replacement that is not automatic does not count', () => {
    expect(boundAmong(retired('next', false), named('next', dear))).toBe(BigInt(alone))
  })
})

describe('a call without an upper bound has no price', () => {
  const options = (service_parameters: object) => ({ service_parameters })
  const tool = (members: object) => ({ tools: [members] })
  const cached = (cache_control: unknown) => ({ messages: [{ role: 'user', content: [{ ...text, cache_control }] }] })
  test.each([
    ['another model as a fallback', { fallbacks: [{ model: 'dear' }] }],
    ['a web search', options({ enable_web_search: 'on' })],
    ['a web search that the model decides on', options({ enable_web_search: 'auto' })],
    ['scraping', options({ enable_web_scraping: true })],
    ['a search of posts', options({ enable_x_search: true })],
    ['citations', options({ enable_web_citations: true })],
    ['an unknown option', options({ enable_other_search: true })],
    ['a tool of web search', tool({ type: 'web_search' })],
    ['a tool of post search', tool({ type: 'x_search' })],
    ['a tool of unknown type', tool({ type: 'web_search_preview', function: { name: 'f' } })],
    ['an unknown member', { web_search_options: {} }],
    ['an unknown limit', { maxCompletionTokens: 1_000_000 }],
    ['a cache of a day', { prompt_cache_retention: '24h' }],
    ['an extended cache', { prompt_cache_retention: 'extended' }],
    ['a part that is kept for an hour', cached({ type: 'ephemeral', ttl: '1h' })],
    ['a part with an unknown compression', cached({ type: 'ephemeral', ttl: 'for ever' })],
    ['a tool that is kept for an hour', tool({ function: { name: 'f' }, cache_control: { ttl: '1h' } })],
    ['a suffix of web search', { model: 'm:enable_web_search=on' }],
    ['a suffix of web search by another value', { model: 'm:enable_web_search=yes' }],
    ['a suffix of scraping behind another one', { model: 'm:disable_thinking=true&enable_web_scraping=true' }],
    ['a suffix that takes its off back', { model: 'm:enable_web_search=off&enable_web_search=on' }],
    ['a suffix with a name in escapes', { model: 'm:enable%5Fweb_search=on' }],
    ['a suffix that is not an option', { model: 'm:online' }],
    ['a suffix before another one', { model: 'm:online:disable_thinking=true' }],
  ])('%s', (_rule, changes) => {
    expect(bound(changes)).toBeNull()
  })

  test.each([
    ['no fallbacks', { fallbacks: [] }],
    ['a cache of the usual time', { prompt_cache_retention: 'default' }],
    ['a part that is kept for the usual time', cached({ type: 'ephemeral' })],
    ['and says so', cached({ type: 'ephemeral', ttl: '5m' })],
    ['a search that is off', options({ enable_web_search: 'off', enable_web_scraping: false })],
    ['how an answer looks', options({ strip_thinking_response: true, include_service_system_prompt: false })],
    ['functions of the caller', tool({ type: 'function', function: { name: 'f' } })],
    ['a function without a type', tool({ function: { name: 'f' } })],
    ['an unknown member that is not set', { other: undefined }],
    ['a suffix of thinking', { model: 'm:disable_thinking=true' }],
    ['a suffix of a search that is off', { model: 'm:enable_web_search=off' }],
  ])('a price stays: %s', (_rule, changes) => {
    expect(bound(changes)).toBeLessThan(5_000n)
  })

  test('a colon in the model’s own id is not a suffix', () => {
    expect(chatBound({ ...record(), id: 'm:8b' }, chat({ model: 'm:8b' }))).toBeLessThan(5_000n)
    expect(chatBound(record(), chat({ model: 'm:8b' }))).toBeNull()
  })
})

const names = fc.constantFrom(
  'url',
  'data',
  'file_data',
  'image_url',
  'input_audio',
  'file',
  'video_url',
  'type',
  'content',
)
const anyText = fc.string({ unit: 'binary', maxLength: 300 })
const anyJson = fc.object({
  key: fc.oneof(names, fc.string()),
  values: [
    anyText,
    fc.constant(image.slice(0, 10_000)),
    fc.constant('image_url'),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  ],
  maxDepth: 2,
  maxKeys: 4,
})
const anyTool = fc
  .record({ name: fc.string({ minLength: 1 }), parameters: anyJson })
  .map(called => ({ function: called }))
const anyMessage = fc.oneof(
  fc.tuple(anyJson, anyText).map(([more, content]) => ({ ...more, role: 'user', name: 'n', content })),
  fc.tuple(anyJson, anyText).map(([more, data]) => ({
    ...more,
    role: 'assistant',
    content: [{ ...more, type: 'text', text: 'x', cache_control: undefined }],
    name: 'n',
    reasoning_details: [{ ...more, type: 't', id: 'i', text: 't', data, format: 'f', index: 0 }],
    tool_calls: [{ ...more, id: 'i', type: 'function', function: { ...more, name: 'f', arguments: data } }],
    reasoning_content: data,
  })),
)

test('outside of media no text is below a token a byte, at any price', () => {
  fc.assert(
    fc.property(
      fc.array(anyTool, { maxLength: 3 }),
      fc.array(anyMessage, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 0, max: 500 }),
      (tools, messages, price) => {
        const bytes = Buffer.byteLength(canonicalJson(messages)) + Buffer.byteLength(canonicalJson(tools))
        const amount = bound({ tools, messages }, { pricing: { input: usd(price), output: usd(0) } })
        expect(amount).toBeGreaterThanOrEqual(BigInt(bytes * price))
      },
    ),
  )
})
