import { expect, test } from 'vitest'
import { OpenAiImages } from '#engines/openai/images.ts'
import type { ImageRequest } from '#engines/ports/media-engines.ts'
import { engines } from './asked-engine.ts'
import { asJson } from './upstream.ts'

const engineFor = engines(OpenAiImages)

const call = (change: Partial<ImageRequest> = {}, signal = new AbortController().signal) => ({
  request: { prompt: 'a boat', width: 512, height: 256, count: 2, format: 'png' as const, ...change },
  engineModel: 'inner',
  signal,
})

const images = [Buffer.from('one'), Buffer.from('two')]
const answer = { created: 1, data: images.map(bytes => ({ b64_json: bytes.toString('base64') })) }

test('images come as bytes, for a request in OpenAI’s words', async () => {
  const [engine, server] = await engineFor(asJson(answer))
  expect(await engine.generate(call())).toEqual(images)
  expect(server.seen[0]).toMatchObject({
    url: '/v1/images/generations',
    body: { model: 'inner', prompt: 'a boat', n: 2, size: '512x256', response_format: 'b64_json' },
  })
  expect(Object.keys(server.seen[0]?.body ?? {})).toHaveLength(5)
})

test('a server that always returns base64 is not asked for it', async () => {
  const [engine, server] = await engineFor(asJson(answer), { lacksResponseFormat: true })
  expect(await engine.generate(call())).toEqual(images)
  expect(server.seen[0]?.body).not.toHaveProperty('response_format')
})

test('what only other servers take is said where it was asked for', async () => {
  const [engine, server] = await engineFor(asJson(answer))
  await engine.generate(call({ negativePrompt: 'fog', seed: -3, steps: 4, cfgScale: 2 }))
  expect(server.seen[0]?.body).toMatchObject({ negative_prompt: 'fog', seed: -3, steps: 4, cfg_scale: 2 })
})

test.each([
  ['an address', { data: [{ url: 'http://127.0.0.1/secret' }] }],
  ['no base64', { data: [{ b64_json: '<html>' }] }],
  ['an empty image', { data: [{ b64_json: '' }] }],
  ['nothing', { data: [] }],
  ['no JSON', 'images'],
])('%s is no image', async (_name, value) => {
  const [engine] = await engineFor(asJson(value))
  await expect(engine.generate(call())).rejects.toMatchObject({ kind: 'INFERENCE_FAILED' })
})

test.each([
  [400, { error: { code: 'content_policy_violation', message: 'no' } }, 'CONTENT_POLICY_VIOLATION'],
  [400, { error: { message: 'bad', param: 'seed' } }, 'INVALID_REQUEST'],
  [429, {}, 'MODEL_OVERLOADED'],
  [401, {}, 'MODEL_OFFLINE'],
  [500, {}, 'INFERENCE_FAILED'],
])('a server that answers %i with %j', async (status, body, kind) => {
  const [engine] = await engineFor(asJson(body, status))
  await expect(engine.generate(call({ seed: 1 }))).rejects.toMatchObject({ kind })
})

test('a caller that leaves ends the request', async () => {
  const abort = new AbortController()
  const [engine, server] = await engineFor(() => abort.abort(new Error('left')))
  await expect(engine.generate(call({}, abort.signal))).rejects.toThrow('left')
  await server.left
})
