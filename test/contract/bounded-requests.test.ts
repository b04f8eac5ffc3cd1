import { expect, test } from 'vitest'
import { z } from 'zod'
import { readLeniently } from '#client/wire/read-answer.ts'
import { describeIssues } from '#contract/errors/issues.ts'
import { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '#contract/operations/chat.ts'
import { createEmbedding, EmbeddingRequest } from '#contract/operations/embeddings.ts'
import { ModelList } from '#contract/operations/models.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { anyObject, mostAnswerFaults, mostFaults } from '#contract/schemas.ts'

/** Every schema inside one, and the one itself. */
function inside(value: unknown, seen = new Set<z.core.$ZodType>()): Set<z.core.$ZodType> {
  if (value instanceof z.core.$ZodType) {
    if (seen.has(value)) return seen
    seen.add(value)
    inside(Object.values(value._zod.def), seen)
  } else if (Array.isArray(value)) for (const each of value) inside(each, seen)
  else if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    inside(Object.values(value), seen)
  }
  return seen
}

const bodies = (operations as readonly Operation[]).flatMap(({ id, request: { body } }) =>
  body ? [[id, body] as const] : [],
)

const answers = (operations as readonly Operation[]).flatMap(({ id, answer: { json, events } }) =>
  [json, events].flatMap(schema => (schema ? [[`an answer of ${id}`, schema] as const] : [])),
)

test.each([...bodies, ...answers])('the lists and records of %s are bounded ones', (_id, body) => {
  const schemas = [...inside(body)]
  expect(schemas.length).toBeGreaterThan(1)
  const unbounded = schemas.filter(schema => {
    if (schema instanceof z.ZodArray) return !schema._zod.traits.has('BoundedList')
    if (!(schema instanceof z.ZodRecord)) return false
    return !schema._zod.traits.has(schema.valueType instanceof z.ZodUnknown ? 'OpenRecord' : 'BoundedRecord')
  })
  expect(unbounded).toEqual([])
})

test.each(answers)('in a union, whose faults count as one, the lists of %s stop early', (_id, answer) => {
  const unions = [...inside(answer)].filter(schema => schema._zod.traits.has('$ZodUnion'))
  const inUnions = unions.filter(schema => !schema._zod.traits.has('$ZodDiscriminatedUnion'))
  for (const schema of inUnions.flatMap(union => [...inside(Object.values(union._zod.def))])) {
    if (schema instanceof z.ZodArray) expect(schema._zod.def).toMatchObject({ most: mostFaults })
  }
})

test('an object of anything is taken as it is; all else is refused as by a record', () => {
  const record = z.record(z.string(), z.unknown())
  const value = { a: 1, b: [{}], c: null }
  expect(anyObject().parse(value)).toBe(value)
  for (const wrong of [[], [1], 'a', 1, true, null, undefined, new Date(0)])
    expect(anyObject().safeParse(wrong).error?.issues).toEqual(record.safeParse(wrong).error?.issues)
  expect(z.toJSONSchema(anyObject())).toEqual(z.toJSONSchema(record))
})

const zeros = Array(200_000).fill(0)
const members = Object.fromEntries(zeros.map((zero, index) => [`k${index}`, zero]))
const chat = { model: 'm', messages: [{ role: 'user', content: 'x' }] }

test.each<[string, z.ZodType, object]>([
  ['tokens in a list', EmbeddingRequest, { model: 'm', input: [zeros] }],
  ['tokens', EmbeddingRequest, { model: 'm', input: zeros }],
  ['many lists of tokens', EmbeddingRequest, { model: 'm', input: Array(2_000).fill(zeros.slice(0, 100)) }],
  ['texts and one token', EmbeddingRequest, { model: 'm', input: ['a', ...zeros] }],
  ['content', ChatCompletionRequest, { ...chat, messages: [{ role: 'user', content: zeros }] }],
  ['content of an assistant', ChatCompletionRequest, { ...chat, messages: [{ role: 'assistant', content: zeros }] }],
  ['messages', ChatCompletionRequest, { ...chat, messages: zeros }],
  ['tools', ChatCompletionRequest, { ...chat, tools: zeros }],
  ['stops', ChatCompletionRequest, { ...chat, stop: zeros }],
  ['consents', VideoQueueRequest, { model: 'm', prompt: 'p', duration: '5s', consents: members }],
  ['references', VideoQueueRequest, { model: 'm', prompt: 'p', duration: '5s', reference_image_urls: zeros }],
])('two hundred thousand faults are a few: %s', (_name, schema, request) => {
  const { error } = schema.safeParse(request)
  expect(count(error?.issues ?? [])).toBeLessThan(4 * mostFaults)
  if (!error) return
  const answer = describeIssues(error, request)
  expect(answer.issues?.length).toBeGreaterThan(0)
  expect(JSON.stringify(answer).length).toBeLessThan(10_000)
})

const vectors = createEmbedding.answer.json
const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'm' }
const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'x' } }

test.each<[string, z.ZodType, object]>([
  ['models', ModelList, { object: 'list', type: 'all', data: zeros }],
  ['vectors', vectors, { object: 'list', model: 'm', data: zeros, usage: { prompt_tokens: 1, total_tokens: 1 } }],
  ['choices', ChatCompletion, { ...completion, choices: zeros }],
  ['choices of an event', ChatCompletionChunk, { ...completion, object: 'chat.completion.chunk', choices: zeros }],
  [
    'parts',
    ChatCompletion,
    { ...completion, choices: [{ ...choice, message: { role: 'assistant', content: zeros } }] },
  ],
])('D13: an answer of two hundred thousand faults has fewer: %s', (_name, schema, answer) => {
  const { error } = schema.safeParse(answer)
  expect(count(error?.issues ?? [])).toBeGreaterThan(0)
  expect(count(error?.issues ?? [])).toBeLessThan(2 * mostAnswerFaults)
})

test('an answer may have many objects with members that we do not know', () => {
  const record = { id: 'm', object: 'model', owned_by: 'x', type: 'text', model_spec: { privacy: 'private' } }
  const data = Array.from({ length: 20_000 }, () => ({ ...record, newer: 1 }))
  const read = readLeniently(ModelList, { object: 'list', type: 'all', data })
  expect(read?.data.length).toBe(20_000)
  expect(read?.data.every(each => !('newer' in each))).toBe(true)
})

/** With those of the alternatives of unions. */
const count = (issues: readonly z.core.$ZodIssue[]): number =>
  issues.reduce((sum, issue) => sum + 1 + (issue.code === 'invalid_union' ? count(issue.errors.flat()) : 0), 0)
