import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { DetailedError } from '#contract/errors/failures.ts'
import { describeIssues } from '#contract/errors/issues.ts'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { VideoDuration, VideoQueueRequest } from '#contract/operations/video.ts'

const chat = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] }
const video = { model: 'm', prompt: 'p', duration: '5s' }

/** What a caller of this body is told: each path with its sentence. */
function told(schema: z.ZodType, body: unknown): string[] {
  const parsed = schema.safeParse(body)
  if (parsed.success) return []
  const answer = DetailedError.parse(describeIssues(parsed.error, body))
  expect(answer.error).toBe('Invalid request parameters')
  return (answer.issues ?? []).map(({ path, message }) => `${(path as unknown[]).join('.')}: ${message}`)
}

const allDurations = VideoDuration.options.join(', ')
const ninth = 'https://files.example/9.png'

test.each([
  ['§2.6', 'an invalid duration', { ...video, duration: '17s' }, [`duration: Allowed values: ${allDurations}`]],
  ['§2.6', 'no duration', { model: 'm', prompt: 'p' }, ['duration: Field is required']],
  ['§2.6', 'nothing', {}, ['model: Field is required', 'prompt: Field is required', 'duration: Field is required']],
  ['§2.6', 'an unknown upscale factor', { ...video, upscale_factor: 3 }, ['upscale_factor: Allowed values: 1, 2, 4']],
  ['§2.6', 'a number for a text', { ...video, prompt: 5 }, ['prompt: Expected string']],
  [
    '§2.6',
    'another scheme',
    { ...video, image_url: 'ftp://x' },
    [expect.stringMatching(/^image_url: .*http\(s\) URL or a data URL/)],
  ],
  [
    '§2.6',
    'ten images',
    { ...video, reference_image_urls: Array(10).fill(ninth) },
    [expect.stringContaining('reference_image_urls: ')],
  ],
  [
    '§2.6',
    'only audio',
    { ...video, reference_audio_urls: [ninth] },
    [expect.stringContaining('reference_audio_urls: needs at least one')],
  ],
  [
    '§3.2',
    'a consent that says no',
    {
      ...video,
      consents: {
        p: { confirmed_terms_and_privacy: true, confirmed_legal_right: false, confirmed_screening_acknowledged: true },
      },
    },
    ['consents.p.confirmed_legal_right: Allowed value: true'],
  ],
  [
    '§3.2',
    'a consent with more than that',
    {
      ...video,
      consents: {
        p: {
          confirmed_terms_and_privacy: true,
          confirmed_legal_right: true,
          confirmed_screening_acknowledged: true,
          consent_version: 'v2',
        },
      },
    },
    ['consents.p: Not allowed here: consent_version'],
  ],
  ['§2.6', 'a list for a body', [], [': Expected object']],
] as const)('video %s: %s', (_, _what, body, sentences) => {
  expect(told(VideoQueueRequest, body)).toEqual(sentences)
})

const roles = 'user, assistant, tool, system, developer'

test.each([
  [
    'an unknown role',
    { ...chat, messages: [{ role: 'human', content: 'x' }] },
    [`messages.0.role: Allowed values: ${roles}`],
  ],
  ['no role', { ...chat, messages: [{ content: 'x' }] }, ['messages.0.role: Field is required']],
  ['no content', { ...chat, messages: [{ role: 'user' }] }, ['messages.0.content: Field is required']],
  ['no messages', { ...chat, messages: [] }, [expect.stringContaining('messages: ')]],
  [
    'an unknown part',
    { ...chat, messages: [{ role: 'user', content: [{ type: 'picture' }] }] },
    [
      expect.stringMatching(
        /^messages\.0\.content\.0\.type: Allowed values: text, image_url, input_audio, video_url, file$/,
      ),
    ],
  ],
  [
    'a part without its payload',
    { ...chat, messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
    ['messages.0.content.0.image_url: Field is required'],
  ],
  [
    'web search neither on nor off',
    { ...chat, service_parameters: { enable_web_search: 'maybe' } },
    ['service_parameters.enable_web_search: Allowed values: off, on, auto'],
  ],
  ['a temperature that is too high', { ...chat, temperature: 3 }, [expect.stringContaining('temperature: ')]],
] as const)('chat: %s', (_, body, sentences) => {
  expect(told(ChatCompletionRequest, body)).toEqual(sentences)
})

test('a value that fits no kind is told every kind', () => {
  const body = { ...chat, messages: [{ role: 'user', content: 5 }], stop: 7 }
  expect(told(ChatCompletionRequest, body)).toEqual([
    'messages.0.content: Expected string, or: Expected array',
    'stop: Expected string, or: Expected array',
  ])
})

test('`details` nests the same sentences by field', () => {
  const parsed = VideoQueueRequest.safeParse({ ...video, duration: '1s', elements: [{}, { video_url: 1 }] })
  const { details } = describeIssues(parsed.error as z.ZodError)
  expect(JSON.parse(JSON.stringify(details))).toEqual({
    _errors: [],
    duration: { _errors: [`Allowed values: ${allDurations}`] },
    elements: { _errors: [], 1: { _errors: [], video_url: { _errors: ['Expected string'] } } },
  })
})

const secret = 'sk-secret-that-nobody-repeats'

const anyBody = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      model: fc.jsonValue(),
      messages: fc.array(fc.oneof(fc.jsonValue(), fc.record({ role: fc.string(), content: fc.jsonValue() }))),
      prompt: fc.oneof(fc.constant(secret), fc.jsonValue()),
      duration: fc.constantFrom(secret, '5s', 5),
      consents: fc.dictionary(fc.string(), fc.jsonValue()),
      elements: fc.array(fc.jsonValue()),
      tools: fc.array(fc.jsonValue()),
      service_parameters: fc.dictionary(fc.string(), fc.jsonValue()),
    },
    { requiredKeys: [] },
  ),
)

test('whatever is sent, the answer has the shape of the contract, is short, and repeats no value', () => {
  fc.assert(
    fc.property(anyBody, fc.constantFrom<z.ZodType>(ChatCompletionRequest, VideoQueueRequest), (body, schema) => {
      const parsed = schema.safeParse(body)
      if (parsed.success) return
      const answer = describeIssues(parsed.error, body)
      expect(() => DetailedError.parse(answer)).not.toThrow()
      expect(answer.issues?.length).toBeGreaterThan(0)
      expect(answer.issues?.length).toBeLessThanOrEqual(20)
      expect(JSON.stringify(answer)).not.toContain(secret)
    }),
    { numRuns: 500 },
  )
})

test('a body that is wrong in a thousand places gets a short answer', () => {
  const name = 'n'.repeat(10_000)
  const body = {
    ...chat,
    messages: Array.from({ length: 1000 }, () => ({ role: name, content: [{ type: name }] })),
    [name]: 1,
  }
  expect(told(ChatCompletionRequest, body)).toHaveLength(20)
  const consents = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index}${name}`, { [name]: true }]))
  const parsed = VideoQueueRequest.safeParse({ ...video, consents })
  expect(JSON.stringify(describeIssues(parsed.error as z.ZodError)).length).toBeLessThan(20_000)
})

test('members called like parts of the answer, or like a prototype, do no harm', () => {
  const body = JSON.parse(
    '{"model":"m","prompt":"p","duration":"5s","consents":{"__proto__":1,"_errors":1,"constructor":1}}',
  )
  const parsed = VideoQueueRequest.safeParse(body)
  const answer = describeIssues(parsed.error as z.ZodError, body)
  expect(answer.issues?.length).toBeGreaterThan(0)
  expect(Object.prototype).not.toHaveProperty('_errors')
  expect(() => DetailedError.parse(JSON.parse(JSON.stringify(answer)))).not.toThrow()
})
