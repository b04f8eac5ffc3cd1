import { expect, test } from 'vitest'
import { OpenAiEmbeddings } from '#engines/openai/embeddings.ts'
import type { EmbeddingCall } from '#engines/ports/engine.ts'
import { engines } from './asked-engine.ts'
import { asJson, type Upstream } from './upstream.ts'

const engineFor = engines(OpenAiEmbeddings)

const call = (change: Partial<EmbeddingCall> = {}): EmbeddingCall => ({
  input: ['one', 'two'],
  engineModel: 'inner',
  signal: new AbortController().signal,
  ...change,
})

const noRequest: Upstream['seen'][number] = { url: '', headers: {}, body: {} }

const row = (index: number, embedding: unknown = [index, 1]) => ({ object: 'embedding', index, embedding })
const base64 = (vector: number[]) => Buffer.from(Float32Array.from(vector).buffer).toString('base64')
const endless = base64(Array(100_001).fill(0))
const usage = { prompt_tokens: 5, total_tokens: 5 }

test('vectors come in the order of their inputs, with the tokens that the server counts', async () => {
  const [engine, server] = await engineFor(asJson({ object: 'list', data: [row(1), row(0)], usage }), {
    apiKeyVariable: 'ENGINE_KEY',
    environment: { ENGINE_KEY: 'sk-canary' },
  })
  const vectors = [
    [0, 1],
    [1, 1],
  ]
  expect(await engine.embed(call())).toEqual({ vectors, promptTokens: 5 })
  const [{ url, headers, body } = noRequest] = server.seen
  expect([url, headers.authorization]).toEqual(['/v1/embeddings', 'Bearer sk-canary'])
  expect(body).toEqual({ model: 'inner', input: ['one', 'two'], encoding_format: 'base64' })
})

test('vectors may come as the bytes of their floats, and both ways in one answer', async () => {
  const [engine] = await engineFor(asJson({ data: [row(0, base64([0.5, -0.25])), row(1, [0.1, 2])], usage }))
  expect((await engine.embed(call())).vectors).toEqual([
    [0.5, -0.25],
    [0.1, 2],
  ])
})

test('chosen dimensions, and tokens of the model, pass', async () => {
  const [engine, server] = await engineFor(asJson({ data: [row(0)], usage }))
  await engine.embed(call({ input: [1, 2], dimensions: 2 }))
  expect(server.seen[0]?.body).toMatchObject({ input: [1, 2], dimensions: 2 })
})

test.each([
  ['no usage', {}],
  ['an empty usage', { usage: {} }],
  ['a usage that can not be', { usage: { prompt_tokens: -1 } }],
])('%s is no count', async (_name, rest) => {
  const [engine] = await engineFor(asJson({ data: [row(0), row(1)], ...rest }))
  expect((await engine.embed(call())).promptTokens).toBeNull()
})

test('rows without an index are in their order', async () => {
  const [engine] = await engineFor(asJson({ data: [{ embedding: [1] }, { embedding: [2] }] }))
  expect((await engine.embed(call())).vectors).toEqual([[1], [2]])
})

test.each([
  ['fewer vectors', { data: [row(0)], usage }],
  ['more vectors', { data: [row(0), row(1), row(2)], usage }],
  ['one vector twice', { data: [row(0), row(0)], usage }],
  ['vectors of two lengths', { data: [row(0), row(1, [1])], usage }],
  ['an empty vector', { data: [row(0), row(1, [])], usage }],
  ['words for a vector', { data: [row(0), row(1, 'no vector')], usage }],
  ['an empty text for a vector', { data: [row(0), row(1, '')], usage }],
  ['half a float', { data: [row(0), row(1, base64([1, 2]).slice(0, 8))], usage }],
  ['floats that are no numbers', { data: [row(0), row(1, base64([1, Number.NaN]))], usage }],
  ['more floats than the other vector has', { data: [row(0), row(1, base64([1, 2, 3]))], usage }],
  ['numbers beyond 32-bit floats', { data: [row(0), row(1, [1, 1e300])], usage }],
  ['more floats than any model has', { data: [0, 1].map(index => row(index, endless)), usage }],
  ['more numbers than any model has', { data: [0, 1].map(index => row(index, Array(100_001).fill(0))), usage }],
  ['no list', { data: {}, usage }],
  ['a list', [row(0), row(1)]],
  ['no JSON', 'vectors'],
])('%s is not sold', async (_name, answer) => {
  const [engine] = await engineFor(asJson(answer))
  await expect(engine.embed(call())).rejects.toMatchObject({ kind: 'INFERENCE_FAILED' })
})

test.each<[dimensions: number, isSold: boolean]>([
  [2, true],
  [1, false],
  [3, false],
])('vectors of two dimensions, where %i were requested, are sold: %s', async (dimensions, isSold) => {
  const [engine] = await engineFor(asJson({ data: [row(0), row(1)], usage }))
  const result = await engine.embed(call({ dimensions })).catch(error => error.kind)
  expect(result === 'INFERENCE_FAILED').toBe(!isSold)
})

test.each([
  [429, {}, 'MODEL_OVERLOADED'],
  [503, {}, 'MODEL_AT_CAPACITY'],
  [401, {}, 'MODEL_OFFLINE'],
  [500, { error: 'secret of the server' }, 'INFERENCE_FAILED'],
  [400, { error: { message: 'bad', param: 'dimensions' } }, 'INVALID_REQUEST'],
])('a server that answers %i', async (status, body, kind) => {
  const problems: unknown[] = []
  const [engine] = await engineFor(asJson(body, status), { onProblem: problem => problems.push(problem) })
  const failed = await engine.embed(call({ dimensions: 4 })).catch(error => error)
  expect(failed.kind).toBe(kind)
  expect(JSON.stringify([failed.body, problems])).not.toContain('secret of the server')
  expect(problems).toEqual([expect.objectContaining({ status })])
})

test('an error in a 200 is one', async () => {
  const [engine] = await engineFor(asJson({ error: { code: 429, message: 'slow down' } }))
  await expect(engine.embed(call())).rejects.toMatchObject({ kind: 'MODEL_OVERLOADED' })
})

test('a caller that leaves ends the request', async () => {
  const abort = new AbortController()
  const [engine, server] = await engineFor(() => abort.abort(new Error('left')))
  await expect(engine.embed(call({ signal: abort.signal }))).rejects.toThrow('left')
  await server.left
})
