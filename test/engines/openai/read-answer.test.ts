import fc from 'fast-check'
import { expect, test } from 'vitest'
import { answerValues } from '#contract/limits.ts'
import { ChatCompletion, ChatCompletionChunk } from '#contract/operations/chat.ts'
import { mostChoices, readChunk, readCompletion, readObject } from '#engines/http/read-answer.ts'
import { ChunkShape } from '#engines/ports/text-chunk.ts'

const value = fc.oneof(
  fc.constantFrom(null, 0, 1, -1, 0.5, '', 'stop', 'assistant', true),
  fc.jsonValue({ maxDepth: 2 }),
)

/** Mostly what an engine would say, now and then something else. */
const mostly = (...right: unknown[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: value })

const message = fc.record(
  {
    ...{ role: mostly('assistant'), content: mostly('', 'text', null), reasoning_content: mostly(null, 'text') },
    ...{ tool_calls: mostly(null), reasoning_details: mostly(null), other: value },
  },
  { requiredKeys: ['role', 'content'] },
)
const choice = fc.record(
  { ...{ index: mostly(0), finish_reason: mostly('stop', null), message }, logprobs: mostly(null), stop_reason: value },
  { requiredKeys: ['index', 'message', 'finish_reason'] },
)
const usage = fc.record({
  ...{ prompt_tokens: mostly(1), completion_tokens: mostly(1), total_tokens: mostly(2) },
  prompt_tokens_details: mostly(null, { cached_tokens: 1 }, { cached_tokens: 'no' }),
})
/** An answer of which any member may be missing or something else. */
const answer = fc.record({
  ...{ id: fc.constant('c'), created: fc.constant(1), model: fc.constant('m') },
  choices: fc.array(choice, { maxLength: 2 }),
  usage: fc.oneof(usage, value),
})

test('an answer is taken exactly where the schema takes it, and comes as the schema gives it', () => {
  let taken = 0
  fc.assert(
    fc.property(answer, given => {
      const read = readCompletion(given, 1)
      const { usage: _of, ...rest } = given
      const bySchema = ChatCompletion.safeParse({ ...rest, object: 'chat.completion' }).data
      const { usage, ...own } = read ?? {}
      expect(read === null ? null : own).toEqual(bySchema?.choices.length ? bySchema : null)
      if (read) expect(ChatCompletion.safeParse(read).success).toBe(true)
      if (read) taken++
    }),
    { numRuns: 1_000 },
  )
  expect(taken).toBeGreaterThan(20)
})

const shapeOf = (chunk: object) => {
  const whole = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...chunk }
  const json = JSON.stringify(whole)
  return { json, shape: ChunkShape.of(ChatCompletionChunk.parse(whole), json) }
}
const said = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, finish_reason: null, ...more }] })

test('a chunk known by its shape is the chunk that its JSON says, whatever its text', () => {
  const { shape, json } = shapeOf(said({ content: 'first' }))
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), text => {
      const next = json.replace('"first"', () => JSON.stringify(text))
      const known = shape?.read(next)
      // Control characters stand escaped in JSON; those above ASCII may stand there as they are, and take the other way.
      if (!known) {
        expect(text).toMatch(/[\u007f-\u009f]/)
        return
      }
      expect(known.whole).toEqual(JSON.parse(next))
      expect(JSON.parse(known.as('public').json)).toEqual({ ...JSON.parse(next), model: 'public' })
      expect(known.as('public').choices).toEqual(JSON.parse(next).choices)
    }),
    { numRuns: 1_000 },
  )
})

test('a shape takes any bytes for a chunk only where they are JSON of that shape', () => {
  const { shape, json } = shapeOf(said({ content: 'first' }))
  const piece = fc.constantFrom('"', '\\', '\\"', '\\u00', '\\u00e9', '\\x', '\n', '},{', 'a', '"}', ',"tool_calls":[')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), pieces => {
      const next = json.replace('first', () => pieces.join(''))
      const known = shape?.read(next)
      if (known) expect(known.whole).toEqual(JSON.parse(next))
    }),
    { numRuns: 1_000 },
  )
})

test.each([
  ['an end', said({ content: 'a' }, { finish_reason: 'stop' })],
  ['no text', said({ role: 'assistant', content: '' })],
  ['two texts', said({ content: 'a', reasoning_content: 'b' })],
  ['a call', said({ content: 'a', tool_calls: [{ index: 0, function: { name: 'f', arguments: '' } }] })],
  ['a text under an unknown name', said({ thought: 'a' })],
  ['two choices', { choices: [0, 1].map(index => ({ index, delta: { content: 'a' }, finish_reason: null })) }],
  ['usage', { ...said({ content: 'a' }), usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }],
  ['the name of its text elsewhere', { ...said({ content: 'a' }), more: { content: 'a' } }],
])('a chunk with %s is read by itself', (_what, chunk) => {
  expect(shapeOf(chunk).shape).toBeNull()
})

test.each([
  ['choices', '{"choices":[', '{}', answerValues.values],
  ['numbers', '{"data":[', '0', answerValues.values],
  ['members', '{"data":[', '{"a":0}', answerValues.members],
])('D13: an answer of endless %s is none', (_, start, value, times) => {
  expect(readObject(`${start}${`${value},`.repeat(times)}${value}]}`)).toBeNull()
})

const spoken = { role: 'assistant', content: 'x' }

test.each<[kind: string, read: (choices: unknown[]) => unknown, choice: object]>([
  ['answer', choices => readCompletion({ choices }, 1), { index: 0, finish_reason: 'stop', message: spoken }],
  ['event', choices => readChunk({ choices }, 1), {}],
])('D13: an %s with more choices than anyone may ask for is none', (_, read, choice) => {
  expect(read(Array(mostChoices).fill(choice))).not.toBeNull()
  expect(read(Array(mostChoices + 1).fill(choice))).toBeNull()
})

const reported = (prompt: number, completion: number, total: number, reasoning?: number) => ({
  ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: total },
  ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
})

test.each([
  ['xAI reports beside the completion', reported(32, 9, 135, 94), 103],
  ['Gemini reports only in the total', reported(9, 1, 103), 94],
  ['OpenAI reports within the completion', reported(32, 103, 135, 94), 103],
  ['is none, whatever else the total contains', reported(32, 9, 135, 0), 9],
  ['is more than the total leaves room for', reported(32, 9, 100, 94), 9],
  ['comes without a total', reported(32, 9, 0, 94), 9],
  ['may be a prompt that was not reported', reported(0, 9, 103), 9],
])('completion tokens include reasoning once: reasoning that %s', (_, usage, completion) => {
  const whole = readCompletion({ usage, choices: [{ index: 0, finish_reason: 'stop', message: spoken }] }, 1)
  const chunk = readChunk({ usage, choices: [] }, 1)
  expect([whole, chunk].map(each => each?.usage)).toEqual(Array(2).fill({ ...usage, completion_tokens: completion }))
})
