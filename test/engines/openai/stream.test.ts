import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { TextChunk } from '#engines/ports/text-chunk.ts'
import { type Answer, call, engineFor, read } from './asked-engine.ts'
import { asEvents, asJson, chunk, completion, event, finish, usage } from './upstream.ts'

const secret = 'upstream-secret sk-1234'
const whole = [
  event(chunk('hel')),
  event(chunk('lo')),
  event(finish),
  event({ ...chunk(''), choices: [], usage }),
  'data: [DONE]\n\n',
]

test.each([
  ['never answers', () => undefined, { answerMs: 300, firstByteMs: 300 }],
  [
    'begins and falls silent',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': wait\n')
    },
    { silenceMs: 300, firstByteMs: 5_000 },
  ],
  [
    'never stops',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const timer = setInterval(() => response.write(event(chunk('x'))), 20)
      response.on('close', () => clearInterval(timer))
    },
    { streamMs: 300 },
  ],
] satisfies [string, Answer, object][])(
  'a server that %s is given up, and sees that',
  async (_rule, answer, timeouts) => {
    const [engine, server] = await engineFor(answer, { timeouts })
    expect((await read(engine)).error).toMatchObject({ status: 504 })
    await server.left
  },
)

test('a stream may take longer until its first byte than between two later ones', async () => {
  const late = async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    await sleep(400)
    response.end(joined)
  }
  const [engine] = await engineFor(late, { timeouts: { firstByteMs: 5_000, silenceMs: 100 } })
  expect(await read(engine)).toMatchObject({ text: 'hello', error: null })
  const [hasty] = await engineFor(late, { timeouts: { firstByteMs: 100, silenceMs: 5_000 } })
  expect(await read(hasty)).toMatchObject({ chunks: [], error: { status: 504 } })
})

test('chunks that are taken at once are not yielded too', async () => {
  const texts = ['a', 'b', 'c', 'd', 'e']
  const [engine] = await engineFor(async response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const text of texts) {
      response.write(event(chunk(text)))
      await sleep(20)
    }
    response.end([event(chunk('f')), ...whole.slice(2)].join(''))
  })
  const taken: string[] = []
  const takeDirectly = ({ text }: TextChunk) => text !== 'c' && taken.push(text) > 0
  const { text, chunks, error } = await read(engine, { ...call(), takeDirectly })
  expect([text, taken, error]).toEqual(['ac', ['b', 'd', 'e', 'f'], null])
  expect(chunks.at(-1)?.usage).toEqual(usage)
})

test('a stream asks for usage and comes event by event', async () => {
  const [engine, server] = await engineFor(asEvents(whole))
  const { chunks, text, error } = await read(engine, call({ stream_options: { include_usage: false } }))
  expect(error).toBeNull()
  expect(text).toBe('hello')
  expect(chunks.at(-1)?.usage).toEqual(usage)
  expect(server.seen[0]?.body).toMatchObject({
    stream: true,
    stream_options: { include_usage: true },
    model: 'engine-model',
  })
})

test('a server that always reports usage is not asked for it', async () => {
  const [engine, server] = await engineFor(asEvents(whole), { lacksStreamOptions: true })
  expect((await read(engine)).chunks.at(-1)?.usage).toEqual(usage)
  expect(server.seen[0]?.body).not.toHaveProperty('stream_options')
})

describe('running usage', () => {
  const said = (index: number, prompt: number, completion: number) => ({
    ...chunk('x'),
    choices: [{ index, delta: { content: 'x' }, finish_reason: null }],
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  })
  const timed = (timings: object) => ({ ...chunk('x'), timings })
  const tokens = (prompt: number, completion: number) => ({ prompt_tokens: prompt, completion_tokens: completion })

  test.each<[rule: string, name: 'continuous_usage_stats' | 'timings_per_token', events: object[], used: object[]]>([
    ['vLLM: of the one choice', 'continuous_usage_stats', [said(0, 9, 1), said(0, 9, 2)], [tokens(9, 1), tokens(9, 2)]],
    [
      'vLLM: of each choice, so it is added up',
      'continuous_usage_stats',
      [said(0, 9, 1), said(1, 9, 4), said(0, 9, 2)],
      [tokens(9, 1), tokens(9, 5), tokens(9, 6)],
    ],
    [
      'llama.cpp: what it read from its cache is prompt too',
      'timings_per_token',
      [timed({ cache_n: 30, prompt_n: 9, predicted_n: 2, predicted_ms: 5.5 }), timed({ prompt_n: 9, predicted_n: 3 })],
      [tokens(39, 2), tokens(9, 3)],
    ],
    ['llama.cpp: invalid timings', 'timings_per_token', [timed({ prompt_n: 'many' })], []],
  ])('%s', async (_rule, runningUsage, events, used) => {
    const [engine] = await engineFor(asEvents([...events.map(event), event(finish), 'data: [DONE]\n\n']), {
      runningUsage,
    })
    const { chunks, error } = await read(engine)
    expect(error).toBeNull()
    expect(chunks.flatMap(each => (each.usage ? [each.usage] : []))).toEqual(
      used.map(each => expect.objectContaining(each)),
    )
    expect(JSON.stringify(chunks)).not.toContain('timings')
  })

  test.each([
    [undefined, { stream_options: { include_usage: true } }],
    ['continuous_usage_stats', { stream_options: { include_usage: true, continuous_usage_stats: true } }],
    ['timings_per_token', { stream_options: { include_usage: true }, timings_per_token: true }],
  ] as const)('is asked for only where the operator says so: %s', async (runningUsage, asked) => {
    const [engine, server] = await engineFor(asEvents(whole), { runningUsage })
    await read(engine)
    const { stream_options, timings_per_token } = server.seen[0]?.body ?? {}
    expect({ stream_options, ...(timings_per_token === undefined ? {} : { timings_per_token }) }).toEqual(asked)
  })
})

const joined = whole.join('')
const everyByte = (text: string) => [...Buffer.from(text)].map(byte => Buffer.from([byte]))
test.each([
  ['byte by byte', everyByte(joined), 'hello'],
  ['at once', [joined], 'hello'],
  ['with carriage returns', everyByte(joined.replaceAll('\n', '\r\n')), 'hello'],
  ['with carriage returns alone', [joined.replaceAll('\n', '\r')], 'hello'],
  ['with comments and other fields', [': ping\n\n', 'event: message\nid: 4\nretry: 10\n', ...whole], 'hello'],
  ['without spaces after the colon', [joined.replaceAll('data: ', 'data:')], 'hello'],
  ['with data over several lines', [joined.replaceAll(',"object"', ',\ndata: "object"')], 'hello'],
  ['with a byte order mark', [`\ufeff${joined}`], 'hello'],
  ['with characters cut in two', everyByte(event(chunk('日本 🚤')) + event(finish)), '日本 🚤'],
  ['without [DONE], after a reason', [event(chunk('hello')), event(finish)], 'hello'],
  ['without the last blank line', [event(chunk('hello')), event(finish), 'data: [DONE]'], 'hello'],
  [
    'with a last event that lacks its delta',
    [event(chunk('hello')), event({ choices: [{ finish_reason: 'stop' }] }), 'data: [DONE]\n\n'],
    'hello',
  ],
  ['with words after [DONE]', [...whole, event(chunk('more'))], 'hello'],
])('a stream is read %s', async (_rule, pieces, text) => {
  const [engine] = await engineFor(asEvents(pieces))
  expect(await read(engine)).toMatchObject({ text, error: null })
})

test('parts of text and of thoughts are read as text and as reasoning', async () => {
  const said = (content: object[]) => event({ ...chunk(''), choices: [{ index: 0, delta: { content } }] })
  const [engine] = await engineFor(
    asEvents([
      said([{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }]),
      said([
        { type: 'text', text: 'hel' },
        { type: 'reference', reference_ids: [1] },
      ]),
      event(chunk('lo')),
      event(finish),
    ]),
  )
  const { chunks, text, error } = await read(engine)
  expect([text, error]).toEqual(['hello', null])
  expect(chunks[0]?.choices[0]?.delta).toEqual({ content: '', reasoning_content: 'hm' })
})

test('the nulls of a call that is continued are left out', async () => {
  const called = (call: object) => event({ ...chunk(''), choices: [{ index: 0, delta: { tool_calls: [call] } }] })
  const began = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }
  const [engine] = await engineFor(
    asEvents([
      called(began),
      called({ index: 0, id: null, type: null, function: { name: null, arguments: '{}' } }),
      event(finish),
      'data: [DONE]\n\n',
    ]),
  )
  const { chunks, error } = await read(engine)
  expect(error).toBeNull()
  expect(chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])).toEqual([
    began,
    { index: 0, function: { arguments: '{}' } },
  ])
})

test('a stream without usage is a stream', async () => {
  const [engine] = await engineFor(asEvents([event(chunk('hello')), event(finish), 'data: [DONE]\n\n']))
  const { chunks, error } = await read(engine)
  expect(error).toBeNull()
  expect(chunks.some(each => each.usage)).toBe(false)
})

test.each([
  ['garbage', [event(chunk('he')), 'data: {oops\n\n'], 500],
  ['an event that is not a chunk', [event(chunk('he')), event({ choices: [{ index: 'x' }] })], 500],
  ['an error', [event(chunk('he')), event({ error: { message: secret } })], 500],
  ['an error that means overload', [event(chunk('he')), event({ error: { code: 'rate_limit_exceeded' } })], 429],
  [
    'an error without the object around it',
    [
      event(chunk('he')),
      event({ object: 'error', message: secret, type: 'ServiceUnavailable', code: 503 }),
      'data: [DONE]\n\n',
    ],
    503,
  ],
  [
    'an error of its choice',
    [event(chunk('he')), event({ choices: [{ delta: {}, finish_reason: 'error', error: { code: 502 } }] })],
    500,
  ],
  ['its end before the reason', [event(chunk('he'))], 500],
  ['half an event', [event(chunk('he')), event(finish).slice(0, 30)], 500],
  ['a huge line', [event(chunk('he')), `data: "${'x'.repeat(2 * 1024 * 1024)}`], 500],
  ['a huge event of many lines', [event(chunk('he')), `data: ${'x'.repeat(1000)}\n`.repeat(1200)], 500],
])('a stream that brings %s ends with an error, after what came before', async (_rule, pieces, status) => {
  const [engine] = await engineFor(asEvents(pieces))
  const { text, error } = await read(engine)
  expect(text).toBe('he')
  expect(error).toMatchObject({ name: 'ServiceError', status })
  expect(JSON.stringify(error)).not.toContain('secret')
})

test('a connection that breaks within a stream is an error', async () => {
  const [engine] = await engineFor((response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(chunk('he')), () => setTimeout(() => response.destroy(), 20))
  })
  expect(await read(engine)).toMatchObject({ text: 'he', error: { status: 500 } })
})

test.each([
  ['falls silent', () => undefined],
  ['breaks its connection', (response: ServerResponse) => response.destroy()],
])('a server that %s after the reason has sent everything', async (_rule, ends) => {
  const [engine, server] = await engineFor(
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(event(chunk('he')) + event(finish), () => setTimeout(() => ends(response), 20))
    },
    { timeouts: { silenceMs: 300 } },
  )
  expect(await read(engine)).toMatchObject({ text: 'he', error: null })
  await server.left
  expect(await read(engine, call({ n: 2 }))).toMatchObject({ text: 'he', error: { name: 'ServiceError' } })
})

test.each([
  ['an error before the first byte', asJson({ error: { message: secret } }, 429, { 'retry-after': '3' }), 429],
  ['JSON instead of a stream', asJson(completion), 500],
])('a stream: %s', async (_rule, answer, status) => {
  const [engine] = await engineFor(answer)
  expect(await read(engine)).toMatchObject({ chunks: [], error: { status } })
})

test('leaving the loop ends the upstream call at once', async () => {
  const [engine, server] = await engineFor(asEvents([event(chunk('one')), event(chunk('two'))], { end: false }))
  for await (const _chunk of engine.stream(call())) break
  await server.left
})

test('an abort ends a stream upstream, and stays an abort', async () => {
  const abort = new AbortController()
  const [engine, server] = await engineFor(asEvents([event(chunk('one'))], { end: false }))
  setTimeout(() => abort.abort(), 50)
  const { text, error } = await read(engine, call({}, { signal: abort.signal }))
  expect(text).toBe('one')
  expect(error).toBe(abort.signal.reason)
  await server.left
})

test('a connection serves one stream after the other', async () => {
  const [engine, server] = await engineFor(asEvents(whole))
  for (let turn = 0; turn < 3; turn++) {
    expect((await read(engine)).text).toBe('hello')
    await sleep(100)
  }
  expect(server.connections()).toBe(1)
})
