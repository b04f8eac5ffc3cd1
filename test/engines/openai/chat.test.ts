import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { OpenAiChat } from '#engines/openai/chat.ts'
import { type Answer, call, engineFor, read } from './asked-engine.ts'
import { asJson, completion, upstream } from './upstream.ts'

test('an answer comes as it is, usage too', async () => {
  const [engine, server] = await engineFor(asJson({ ...completion, system_fingerprint: 'fp' }))
  expect(await engine.complete(call())).toEqual({ ...completion, system_fingerprint: 'fp' })
  expect(server.seen[0]?.url).toBe('/v1/chat/completions')
})

test('what is published passes; who is called, with what key, how and what for does not', async () => {
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
    service_tier: 'priority',
    priority: 1,
    prompt_logprobs: 20,
    modalities: ['audio'],
    audio: { voice: 'a' },
    prediction: { type: 'content', content: 'x' },
    documents: [{ text: 'x' }],
    mm_processor_kwargs: {},
    media_io_kwargs: {},
    web_search: true,
    search_parameters: {},
    enable_search: true,
    n_predict: 1e9,
    max_new_tokens: 1e9,
    timeout: 1e9,
    guided_regex: '.*',
    chat_template_kwargs: { a: 1 },
    logit_bias: {},
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
    prompt_cache_key: 'k',
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

const told = (role: string, content: string) => ({ role, content })
const marked = { type: 'text', text: 'B', cache_control: { type: 'ephemeral' } }

test.each<[rule: string, messages: object[], sent: object[]]>([
  ['one of a developer', [told('developer', 'A'), told('user', 'hi')], [told('system', 'A'), told('user', 'hi')]],
  [
    'several at the beginning',
    [told('system', 'A'), { role: 'developer', content: [{ type: 'text', text: 'B' }] }, told('user', 'hi')],
    [told('system', 'A\n\nB'), told('user', 'hi')],
  ],
  [
    'one that is marked for a cache',
    [told('system', 'A'), { role: 'system', content: [marked] }, told('user', 'hi')],
    [{ role: 'system', content: [{ type: 'text', text: 'A' }, marked] }, told('user', 'hi')],
  ],
  [
    'a later one, which keeps its place',
    [told('user', 'hi'), told('developer', 'A'), told('user', 'there')],
    [told('user', 'hi'), told('system', 'A'), told('user', 'there')],
  ],
  ['nothing else', [told('system', 'A'), told('system', 'B')], [told('system', 'A\n\nB')]],
])('instructions reach a template that reads only a first system message: %s', async (_rule, messages, sent) => {
  const [engine, server] = await engineFor(asJson(completion))
  await engine.complete(call({ messages }))
  expect(server.seen[0]?.body.messages).toEqual(sent)
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

test('what a tool returned in parts is sent as one text', async () => {
  const [engine, server] = await engineFor(asJson(completion))
  const called = {
    role: 'assistant',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
  }
  const texts = ['two', 'lines'].map(text => ({ type: 'text', text }))
  await engine.complete(call({ messages: [called, { role: 'tool', tool_call_id: 'c', content: texts }] }))
  expect(server.seen[0]?.body.messages).toEqual([called, { role: 'tool', tool_call_id: 'c', content: 'two\nlines' }])
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
  ['usage that is not a number', { prompt_tokens: 'many', completion_tokens: 1, total_tokens: 1 }],
])('an answer with %s has none', async (_rule, reported) => {
  const [engine] = await engineFor(asJson({ ...completion, usage: reported }))
  const answer = await engine.complete(call())
  expect(answer.choices).toEqual(completion.choices)
  expect(answer.usage).toBeUndefined()
})

test('what the engine costs its operator stays here', async () => {
  const costs = { cost: 0.95, cost_details: { upstream_inference_cost: 19 }, cost_in_usd_ticks: 5 }
  const [engine] = await engineFor(asJson({ ...completion, usage: { ...completion.usage, ...costs } }))
  expect((await engine.complete(call())).usage).toEqual(completion.usage)
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
    asJson({}, 429, { 'retry-after': new Date(Date.now() + 600_000).toUTCString() }),
    429,
    {},
    { 'retry-after': expect.stringMatching(/^(5[0-9]{2}|600)$/) },
  ],
  ['429 with an endless wait', asJson({}, 429, { 'retry-after': '999999' }), 429, {}, { 'retry-after': '3600' }],
  ['429 with nonsense', asJson(secret, 429, { 'retry-after': 'soon' }), 429, {}, {}],
  ['500 with seconds', asJson({}, 500, { 'retry-after': '7' }), 500, {}, { 'retry-after': '7' }],
  ['504 with seconds', asJson('', 504, { 'retry-after': '7' }), 504, {}, { 'retry-after': '7' }],
  ['503', asJson(secret, 503), 503, { error: expect.stringContaining('capacity') }],
  ['a bill that was not paid', asJson({ error: { code: 'insufficient_quota', message: secret } }, 429), 503, {}],
  ['no capacity, as Groq says it', asJson({ error: { message: secret } }, 498), 429, {}],
  ['a failure of the model, as TGI says it', asJson({ error: secret, error_type: 'generation' }, 424), 500, {}],
  ['500', asJson({ error: { message: secret } }, 500), 500, { error: 'Inference processing failed' }],
  ['504', asJson('', 504), 504, {}],
  ['a redirect', asJson('', 302, { location: 'http://evil/' }), 500, {}],
  ['a refused key', asJson({ error: { message: secret } }, 401), 503, { error: expect.stringContaining('offline') }],
  [
    'a key that Gemini refuses',
    asJson([{ error: { code: 400, message: 'API key not valid. Please pass a valid API key.' } }], 400),
    503,
    {},
  ],
  [
    'a key that xAI refuses',
    asJson({ code: 'Client specified an invalid argument', error: `Incorrect API key provided: ${secret}` }, 400),
    503,
    {},
  ],
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
  ...[
    ['in words of LM Studio', { error: `${secret}: the prompt is greater than the context length (n_keep: 13055)` }],
    [
      'in words of Gemini',
      [{ error: { code: 400, message: `${secret}: the input token count (9) exceeds the maximum` } }],
    ],
    [
      'in words of Anthropic',
      { error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8' } },
    ],
  ].map(([words, said]): (typeof failures)[number] => [
    `a long context ${words}`,
    asJson(said, 400),
    400,
    { error: expect.objectContaining({ code: 'context_length_exceeded' }) },
  ]),
  ['filtered content', asJson({ error: { code: 'content_filter', message: secret } }, 400), 422, {}],
  [
    'a refused member of the request',
    asJson({ error: { param: 'temperature', message: secret } }, 400),
    400,
    { issues: [expect.objectContaining({ path: ['temperature'] })] },
  ],
  [
    'a refused member that was not sent',
    asJson({ error: { param: secret, message: secret } }, 422),
    400,
    { error: expect.stringContaining('does not accept this request') },
  ],
  ['an error that is 200', asJson({ error: { message: secret, code: 429 } }), 429, {}],
  [
    'an answer that failed midway',
    asJson({
      ...completion,
      choices: [{ ...completion.choices[0], finish_reason: 'error', error: { code: 429, message: secret } }],
    }),
    429,
    {},
  ],
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

test('a refusal that drips without end is not waited for', async () => {
  const drips = (response: ServerResponse) => {
    response.writeHead(503, { 'content-type': 'application/json' })
    const drip = setInterval(() => response.write(' '), 100)
    response.once('close', () => clearInterval(drip))
  }
  const [engine, server] = await engineFor(drips)
  const whole = expect(engine.complete(call())).rejects.toMatchObject({ status: 503 })
  const stream = expect(read(engine)).resolves.toMatchObject({ error: { status: 503 } })
  await Promise.all([whole, stream, server.left])
})

test('a refused connection is a model that is offline', async () => {
  const server = await upstream(asJson(completion))
  await server.close()
  const engine = new OpenAiChat({ baseUrl: server.baseUrl })
  await expect(engine.complete(call())).rejects.toMatchObject({ status: 503 })
  expect((await read(engine)).error).toMatchObject({ status: 503 })
  await engine.close()
})

test('an answer that is not streamed has a deadline as well', async () => {
  const [engine, server] = await engineFor(() => undefined, { timeouts: { answerMs: 300 } })
  await expect(engine.complete(call())).rejects.toMatchObject({ status: 504 })
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

test.each([
  ['no address', { baseUrl: 'localhost' }, /must be http or https/],
  ['another protocol', { baseUrl: 'file:///etc' }, /must be http or https/],
  ['contains a password', { baseUrl: 'http://a:b@host/v1' }, /user name or password/],
  [
    'a key that is not set',
    { baseUrl: 'http://host/v1', apiKeyVariable: 'ENGINE_KEY' },
    /takes its key from ENGINE_KEY/,
  ],
  [
    'a key that breaks a header',
    { baseUrl: 'http://host/v1', apiKeyVariable: 'ENGINE_KEY', environment: { ENGINE_KEY: 'a\r\nb' } },
    /without spaces/,
  ],
])('%s is one sentence at start', (_rule, options, sentence) => {
  expect(() => new OpenAiChat({ environment: {}, ...options })).toThrow(sentence)
})
