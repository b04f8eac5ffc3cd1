import { expect, test } from 'vitest'
import { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '#contract/operations/chat.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import type { ChatCall } from '#engines/ports/engine.ts'

const pauses: number[] = []
const engine = new DemoChat({
  clock: { now: () => 1_800_000_000_500 },
  pause: async (ms, signal) => {
    pauses.push(ms)
    signal.throwIfAborted()
  },
})

function call(change: object = {}, rest: Partial<ChatCall> = {}): ChatCall {
  const request = ChatCompletionRequest.parse({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'hello there' }],
    ...change,
  })
  return {
    request,
    engineModel: 'demo-chat',
    maxCompletionTokens: 100_000,
    signal: new AbortController().signal,
    ...rest,
  }
}
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const textsOf = (completion: ChatCompletion) => completion.choices.map(({ message }) => String(message.content))

async function answer(change: object = {}, rest: Partial<ChatCall> = {}) {
  const completion = ChatCompletion.parse(await engine.complete(call(change, rest)))
  return { completion, text: textsOf(completion)[0] ?? '', choice: completion.choices[0], usage: completion.usage }
}

async function streamed(change: object = {}, rest: Partial<ChatCall> = {}) {
  const chunks: ChatCompletionChunk[] = []
  for await (const chunk of engine.stream(call(change, rest))) chunks.push(ChatCompletionChunk.parse(chunk))
  const texts: string[] = []
  for (const { choices } of chunks) {
    for (const { index, delta } of choices) texts[index] = (texts[index] ?? '') + (delta.content ?? '')
  }
  return { chunks, texts }
}

test.each([
  ['says what it is', {}, /a demonstration without a language model/],
  ['counts words and characters', user('one two  three'), /3 words and 14 characters: “one two three”/],
  ['one is singular', user('x'), /1 word and 1 character:/],
  ['adds', user('what is 12 + 30?'), /12 \+ 30 = 42/],
  ['subtracts', user('5 - 8'), /5 − 8 = -3/],
  ['multiplies beyond floats', user('999999999 * 999999999'), /= 999999998000000001/],
  ['divides', user('10 / 4'), /= 2\.5/],
  ['does not divide by nothing', user('1 / 0'), /has no value/],
  ['counts when it is asked', user('please count to 12'), /Counting: 1 2 3 4 5 6 7 8 9 10 11 12\./],
  [
    'names the instructions',
    {
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hi' },
      ],
    },
    /instructions begin with “Be kind\.”/,
  ],
  ['counts images', user([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }]), /1 image, which/],
  [
    'names offered tools',
    { tools: [{ function: { name: 'look_up' } }, { type: 'web_search' }] },
    /does not call: look_up\./,
  ],
  ['repeats only the beginning', user('word '.repeat(500)), /word…”/],
])('the answer %s', async (_rule, change, text) => {
  expect((await answer(change)).text).toMatch(text)
})

test('the same request has the same answer', async () => {
  expect((await answer()).text).toBe((await answer()).text)
})

test('an answer has the shape of the contract, and its usage adds up', async () => {
  const { completion, choice, usage } = await answer()
  expect(completion).toMatchObject({ object: 'chat.completion', created: 1_800_000_000, model: 'demo-chat' })
  expect(completion.id).toMatch(/^chatcmpl-/)
  expect(choice).toMatchObject({ index: 0, finish_reason: 'stop', stop_reason: null, message: { role: 'assistant' } })
  expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
  expect(usage?.prompt_tokens).toBe(8)
})

test.each([
  ['max_tokens', { max_tokens: 5 }, {}, 5],
  ['max_completion_tokens', { max_completion_tokens: 6 }, {}, 6],
  ['maxCompletionTokens', { maxCompletionTokens: 7 }, {}, 7],
  ['what was held', { max_tokens: 500 }, { maxCompletionTokens: 4 }, 4],
  ['nothing held', {}, { maxCompletionTokens: 0 }, 0],
])('%s ends an answer', async (_rule, change, rest, tokens) => {
  const { choice, usage } = await answer(change, rest)
  expect(choice?.finish_reason).toBe('length')
  expect(usage?.completion_tokens).toBe(tokens)
})

test('all choices together stay within what was held', async () => {
  const { completion, usage } = await answer({ n: 3 }, { maxCompletionTokens: 20 })
  expect(completion.choices.map(({ index }) => index)).toEqual([0, 1, 2])
  expect(usage?.completion_tokens).toBe(18)
})

test('each choice says which it is', async () => {
  const { completion } = await answer({ n: 2 })
  expect(textsOf(completion).map(text => /choice (\d of \d)/.exec(text)?.[1])).toEqual(['1 of 2', '2 of 2'])
})

test.each([
  ['one sequence', 'model', 'This is demo-chat, a demonstration without a language ', 'model'],
  ['the first of several', ['words', 'demo', 'language'], 'This is ', 'demo'],
  ['an empty one is none', ['', 'demo-chat'], 'This is ', 'demo-chat'],
])('stop: %s', async (_rule, stop, text, reason) => {
  const { completion, choice } = await answer({ stop })
  expect(textsOf(completion)).toEqual([text])
  expect(choice).toMatchObject({ finish_reason: 'stop', stop_reason: reason })
})

test('a stop that never comes changes nothing', async () => {
  expect((await answer({ stop: ['zzz'] })).text).toBe((await answer()).text)
})

test.each([
  ['when it is asked for', { reasoning_effort: 'low' }, true],
  ['by the other name', { reasoning: { effort: 'high' } }, true],
  ['not with none', { reasoning_effort: 'none' }, false],
  ['not when it is off', { reasoning_effort: 'low', service_parameters: { disable_thinking: true } }, false],
  ['not by itself', {}, false],
])('it thinks %s', async (_rule, change, thinks) => {
  const { text, usage } = await answer(change)
  expect(/^<think>.*<\/think>\n\nThis is/s.test(text)).toBe(thinks)
  expect((usage?.completion_tokens_details?.reasoning_tokens ?? 0) > 0).toBe(thinks)
})

test('JSON is JSON', async () => {
  const { text } = await answer({ response_format: { type: 'json_object' } })
  expect(JSON.parse(text)).toMatchObject({ demonstration: true, words: 2, message: 'hello there' })
})

test('a schema is refused by name', async () => {
  const asked = engine.complete(call({ response_format: { type: 'json_schema', json_schema: { schema: {} } } }))
  await expect(asked).rejects.toMatchObject({ status: 400, body: { issues: [{ path: ['response_format', 'type'] }] } })
})

test('a stream brings the same answer: role first, words one by one, the reason, and usage last', async () => {
  const { chunks, texts } = await streamed({ n: 2 })
  const { completion } = await answer({ n: 2 })
  expect(texts).toEqual(textsOf(completion))
  expect(chunks[0]?.choices[0]).toEqual({ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null })
  expect(chunks.length).toBeGreaterThan(40)
  expect(chunks.flatMap(({ choices }) => choices.flatMap(each => each.finish_reason ?? []))).toEqual(['stop', 'stop'])
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: completion.usage })
  expect(chunks.filter(({ usage }) => usage)).toHaveLength(1)
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
})

test('a long stream pauses no longer than a short one may', async () => {
  pauses.length = 0
  const { texts } = await streamed(user('count to 3000'))
  expect(texts[0]).toContain(' 2999 3000.')
  expect(pauses.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(4_001)
})

test('an abort ends a stream where it is', async () => {
  const abort = new AbortController()
  const seen: ChatCompletionChunk[] = []
  const read = async () => {
    for await (const chunk of engine.stream(call(user('count to 500'), { signal: abort.signal }))) {
      if (seen.push(chunk) === 10) abort.abort()
    }
  }
  await expect(read()).rejects.toMatchObject({ name: 'AbortError' })
  expect(seen).toHaveLength(10)
})

test('an abort during a real pause ends it', async () => {
  const abort = new AbortController()
  const stream = new DemoChat().stream(call({}, { signal: abort.signal }))
  await stream.next()
  const next = stream.next()
  abort.abort()
  await expect(next).rejects.toMatchObject({ name: 'AbortError' })
})

test('a call that is already aborted is not answered', async () => {
  await expect(engine.complete(call({}, { signal: AbortSignal.abort() }))).rejects.toMatchObject({ name: 'AbortError' })
})

test('hostile text is only text', async () => {
  const { text, usage } = await answer(user(`<|endoftext|> ${'\ud83d'} ${'a'.repeat(200_000)}`), {
    maxCompletionTokens: 200,
  })
  expect(text).toMatch(/demonstration/)
  expect(usage?.prompt_tokens).toBeGreaterThan(20_000)
})
