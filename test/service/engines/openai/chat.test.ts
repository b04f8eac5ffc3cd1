import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { type ChatCompletionChunk, ChatCompletionRequest } from '#contract/chat.ts'
import type { ChatCall } from '#service/engines/engine.ts'
import { OpenAiChat, type OpenAiChatOptions } from '#service/engines/openai/chat.ts'
import { asEvents, asJson, chunk, completion, event, finish, type Upstream, upstream, usage } from './upstream.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

type Answer = (response: ServerResponse, request: IncomingMessage) => void

async function engineFor(answer: Answer, options: Partial<OpenAiChatOptions> = {}): Promise<[OpenAiChat, Upstream]> {
  const server = await upstream(answer)
  const engine = new OpenAiChat({ baseUrl: server.baseUrl, ...options })
  open.push(server, engine)
  return [engine, server]
}

const call = (change: object = {}, rest: Partial<ChatCall> = {}): ChatCall => ({
  request: ChatCompletionRequest.parse({ model: 'public', messages: [{ role: 'user', content: 'hi' }], ...change }),
  engineModel: 'engine-model',
  maxCompletionTokens: 100,
  signal: new AbortController().signal,
  ...rest,
})

async function read(engine: OpenAiChat, asked: ChatCall = call()) {
  const chunks: ChatCompletionChunk[] = []
  let error: unknown = null
  try {
    for await (const each of engine.stream(asked)) chunks.push(each)
  } catch (thrown) {
    error = thrown
  }
  const text = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join('')
  return { chunks, text, error }
}

const whole = [
  event(chunk('hel')),
  event(chunk('lo')),
  event(finish),
  event({ ...chunk(''), choices: [], usage }),
  'data: [DONE]\n\n',
]

test('an answer comes as it is, usage too', async () => {
  const [engine, server] = await engineFor(asJson({ ...completion, system_fingerprint: 'fp' }))
  expect(await engine.complete(call())).toEqual({ ...completion, system_fingerprint: 'fp' })
  expect(server.seen[0]?.url).toBe('/v1/chat/completions')
})

test('what the request says passes; who is called, with what key, how and what for does not', async () => {
  const [engine, server] = await engineFor(asJson(completion), {
    apiKeyVariable: 'ENGINE_KEY',
    environment: { ENGINE_KEY: 'sk-canary' },
  })
  const denied = {
    api_base: 'http://evil',
    base_url: 'http://evil',
    baseURL: 'http://evil',
    api_key: 'x',
    apiKey: 'x',
    headers: { a: 1 },
    extra_headers: { authorization: 'x' },
    proxy: 'http://evil',
    organization: 'x',
    aws_access_key_id: 'x',
    litellm_params: {},
    callbacks: [],
    webhook_url: 'http://evil',
    kv_transfer_params: { remote_host: 'evil' },
    extra_body: { model: 'dear' },
    models: ['dear'],
    fallbacks: [{ model: 'dear' }],
    route: 'fallback',
    provider: {},
    plugins: [],
    best_of: 20,
    n_predict: 1e9,
    max_new_tokens: 1e9,
    timeout: 1e9,
    service_parameters: {},
    user: 'ann',
    store: true,
    metadata: { a: 'b' },
    stream_options: { include_usage: false },
  }
  const passed = {
    temperature: 0.5,
    stop: ['x'],
    n: 2,
    top_k: 5,
    guided_regex: '.*',
    chat_template_kwargs: { a: 1 },
    logit_bias: {},
  }
  await engine.complete(call({ ...denied, ...passed, max_completion_tokens: 40 }))
  const [{ body, headers } = { body: {}, headers: {} }] = server.seen
  expect(body).toEqual({
    model: 'engine-model',
    messages: [{ role: 'user', content: 'hi' }],
    ...passed,
    max_tokens: 40,
    stream: false,
  })
  expect(headers).toMatchObject({ authorization: 'Bearer sk-canary', 'content-type': 'application/json' })
})

test.each([
  ['clipped to what was held', {}, { maxCompletionTokens: 7 }, { max_tokens: 7 }],
  ['shared by the choices', { n: 4 }, { maxCompletionTokens: 42 }, { max_tokens: 10, n: 4 }],
  ['the smaller of the two', { max_tokens: 3 }, { maxCompletionTokens: 9 }, { max_tokens: 3 }],
])('the limit of an answer is %s', async (_rule, change, rest, sent) => {
  const [engine, server] = await engineFor(asJson(completion))
  await engine.complete(call(change, rest))
  expect(server.seen[0]?.body).toMatchObject(sent)
})

test('a server may know that limit by the other name', async () => {
  const [engine, server] = await engineFor(asJson(completion), { lengthMember: 'max_completion_tokens' })
  await engine.complete(call({ max_tokens: 5 }))
  expect(server.seen[0]?.body).toMatchObject({ max_completion_tokens: 5 })
  expect(server.seen[0]?.body).not.toHaveProperty('max_tokens')
})

test.each([
  [
    'ten times the usage',
    { ...completion, usage: { prompt_tokens: 1e5, completion_tokens: 1e6, total_tokens: 11e5 } },
    { usage: { completion_tokens: 1e6 } },
  ],
  [
    'its own words for our members',
    { ...completion, cost: 5, service_parameters: 'x' },
    { choices: completion.choices },
  ],
  [
    'no frame',
    { choices: completion.choices },
    { object: 'chat.completion', created: expect.any(Number), id: expect.stringMatching(/^chatcmpl-/) },
  ],
])('an answer with %s is taken', async (_rule, answer, expected) => {
  const [engine] = await engineFor(asJson(answer))
  expect(await engine.complete(call())).toMatchObject(expected)
})

test.each([
  ['no usage', undefined],
  ['usage null', null],
  ['usage that is no number', { prompt_tokens: 'many', completion_tokens: 1, total_tokens: 1 }],
])('an answer with %s has none', async (_rule, reported) => {
  const [engine] = await engineFor(asJson({ ...completion, usage: reported }))
  const answer = await engine.complete(call())
  expect(answer.choices).toEqual(completion.choices)
  expect(answer.usage).toBeUndefined()
})

test('an answer without end is not kept in memory', async () => {
  const [engine, server] = await engineFor(async response => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const piece = Buffer.alloc(1024 * 1024, 0x20)
    while (!response.destroyed) await new Promise<void>(resolve => response.write(piece, () => setImmediate(resolve)))
  })
  await expect(engine.complete(call())).rejects.toMatchObject({ status: 500 })
  await server.left
})

const secret = 'upstream-secret sk-1234'
const failures: [rule: string, answer: Answer, status: number, body: object, headers?: object][] = [
  [
    '429 with seconds',
    asJson({ error: { message: secret } }, 429, { 'retry-after': '7' }),
    429,
    { error: expect.stringContaining('overloaded') },
    { 'retry-after': '7' },
  ],
  [
    '429 with a date',
    asJson({}, 429, { 'retry-after': new Date(Date.now() + 20_000).toUTCString() }),
    429,
    {},
    { 'retry-after': expect.stringMatching(/^(19|20)$/) },
  ],
  ['429 with an endless wait', asJson({}, 429, { 'retry-after': '999999' }), 429, {}, { 'retry-after': '3600' }],
  ['429 with nonsense', asJson(secret, 429, { 'retry-after': 'soon' }), 429, {}, {}],
  ['503', asJson(secret, 503), 503, { error: expect.stringContaining('capacity') }],
  ['500', asJson({ error: { message: secret } }, 500), 500, { error: 'Inference processing failed' }],
  ['504', asJson('', 504), 504, {}],
  ['a redirect', asJson('', 302, { location: 'http://evil/' }), 500, {}],
  ['a refused key', asJson({ error: { message: secret } }, 401), 503, { error: expect.stringContaining('offline') }],
  ['an unknown model', asJson({ error: { message: secret } }, 404), 503, {}],
  [
    'a long context',
    asJson({ error: { message: secret, code: 'context_length_exceeded' } }, 400),
    400,
    { error: expect.objectContaining({ code: 'context_length_exceeded' }) },
  ],
  [
    'a long context in words',
    asJson({ message: "This model's maximum context length is 10 tokens" }, 400),
    400,
    { error: expect.objectContaining({ code: 'context_length_exceeded' }) },
  ],
  ['filtered content', asJson({ error: { code: 'content_filter', message: secret } }, 400), 422, {}],
  [
    'a refused member of the request',
    asJson({ error: { param: 'temperature', message: secret } }, 400),
    400,
    { issues: [expect.objectContaining({ path: ['temperature'] })] },
  ],
  [
    'a refused member that nobody sent',
    asJson({ error: { param: secret, message: secret } }, 422),
    400,
    { error: expect.stringContaining('does not take this request') },
  ],
  ['an error that is 200', asJson({ error: { message: secret, code: 429 } }), 429, {}],
  ['no JSON', asJson(`<html>${secret}`), 500, {}],
  ['a list', asJson([completion]), 500, {}],
  ['no choices', asJson({ ...completion, choices: undefined }), 500, {}],
  ['JSON of another world', asJson({ ...completion, choices: [{ message: 5 }] }), 500, {}],
  ['JSON without bottom', asJson('['.repeat(100_000)), 500, {}],
  [
    'another content type',
    (response: ServerResponse) => void response.writeHead(200, { 'content-type': 'text/html' }).end('hi'),
    500,
    {},
  ],
  ['a connection that breaks before the first byte', (response: ServerResponse) => void response.destroy(), 500, {}],
  [
    'a connection that breaks within',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"id":', () => response.destroy())
    },
    500,
    {},
  ],
]
test.each(failures)(
  '%s is an error of ours, without a word of theirs',
  async (_rule, answer, status, body, headers) => {
    const problems: unknown[] = []
    const [engine] = await engineFor(answer, { onProblem: problem => problems.push(problem) })
    const error = await engine.complete(call({ temperature: 1 })).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'ServiceError', status, body })
    if (headers) expect((error as { headers: object }).headers).toEqual(headers)
    expect(JSON.stringify([error, String(error), problems])).not.toMatch(/secret|sk-1234|evil/)
  },
)

test('a refused connection is a model that is offline', async () => {
  const server = await upstream(asJson(completion))
  await server.close()
  const engine = new OpenAiChat({ baseUrl: server.baseUrl })
  open.push(engine)
  await expect(engine.complete(call())).rejects.toMatchObject({ status: 503 })
  expect((await read(engine)).error).toMatchObject({ status: 503 })
})

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

test('an answer that is not streamed has a deadline as well', async () => {
  const [engine, server] = await engineFor(() => undefined, { timeouts: { answerMs: 300 } })
  await expect(engine.complete(call())).rejects.toMatchObject({ status: 504 })
  await server.left
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

test('a stream without usage is a stream', async () => {
  const [engine] = await engineFor(asEvents([event(chunk('hello')), event(finish), 'data: [DONE]\n\n']))
  const { chunks, error } = await read(engine)
  expect(error).toBeNull()
  expect(chunks.some(each => each.usage)).toBe(false)
})

test.each([
  ['garbage', [event(chunk('he')), 'data: {oops\n\n'], 500],
  ['an event that is no chunk', [event(chunk('he')), event({ choices: [{ index: 'x' }] })], 500],
  ['an error', [event(chunk('he')), event({ error: { message: secret } })], 500],
  ['an error that means overload', [event(chunk('he')), event({ error: { code: 'rate_limit_exceeded' } })], 429],
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

test('an abort before the answer ends the call upstream', async () => {
  const abort = new AbortController()
  const [engine, server] = await engineFor(() => setTimeout(() => abort.abort(), 20))
  const error = await engine.complete(call({}, { signal: abort.signal })).catch((thrown: unknown) => thrown)
  expect(error).toBe(abort.signal.reason)
  expect(abort.signal.aborted).toBe(true)
  await server.left
})

test('a connection serves one stream after the other', async () => {
  const [engine, server] = await engineFor(asEvents(whole))
  for (let turn = 0; turn < 3; turn++) {
    expect((await read(engine)).text).toBe('hello')
    await sleep(30)
  }
  expect(server.connections()).toBe(1)
})

test.each([
  ['no address', { baseUrl: 'localhost' }, /must be http or https/],
  ['another protocol', { baseUrl: 'file:///etc' }, /must be http or https/],
  ['a password in it', { baseUrl: 'http://a:b@host/v1' }, /no user and no password/],
  ['a key that is not set', { baseUrl: 'http://host/v1', apiKeyVariable: 'ENGINE_KEY' }, /wants its key in ENGINE_KEY/],
  [
    'a key that breaks a header',
    { baseUrl: 'http://host/v1', apiKeyVariable: 'ENGINE_KEY', environment: { ENGINE_KEY: 'a\r\nb' } },
    /without spaces/,
  ],
])('%s is one sentence at start', (_rule, options, sentence) => {
  expect(() => new OpenAiChat({ environment: {}, ...options })).toThrow(sentence)
})
