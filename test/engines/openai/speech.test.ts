import { expect, onTestFinished, test } from 'vitest'
import { OpenAiSpeech } from '#engines/openai/audio.ts'
import type { SpokenText } from '#engines/ports/media-engines.ts'
import { ServiceSpeech } from '#engines/service/service-engines.ts'
import { type Answer, engines } from './asked-engine.ts'
import { asJson, upstream } from './upstream.ts'

const engineFor = engines(OpenAiSpeech)

const call = (change: Partial<SpokenText> = {}, signal = new AbortController().signal) => ({
  request: { text: 'Hello', voice: 'alloy', format: 'mp3' as const, speed: 1, ...change },
  engineModel: 'inner',
  signal,
})

const asAudio =
  (type: string, bytes = Buffer.from([0xff, 0xfb, 0, 1])): Answer =>
  response => {
    response.writeHead(200, { 'content-type': type })
    response.end(bytes)
  }

test('sound comes as bytes, for a request in OpenAI’s words', async () => {
  const [engine, server] = await engineFor(asAudio('audio/mpeg'))
  expect(await engine.speak(call())).toEqual(Buffer.from([0xff, 0xfb, 0, 1]))
  expect(server.seen[0]).toMatchObject({ url: '/v1/audio/speech', headers: { 'content-type': 'application/json' } })
  expect(server.seen[0]?.body).toEqual({ model: 'inner', input: 'Hello', voice: 'alloy', response_format: 'mp3' })
})

test('what else was asked for is said', async () => {
  const [engine, server] = await engineFor(asAudio('application/octet-stream'))
  await engine.speak(call({ speed: 2, style: 'Sadly.', language: 'de', temperature: 0.5, topP: 0.9, format: 'pcm' }))
  expect(server.seen[0]?.body).toMatchObject({
    ...{ response_format: 'pcm', speed: 2, instructions: 'Sadly.', language: 'de', temperature: 0.5, top_p: 0.9 },
  })
})

test.each([
  ['a page', 'text/html', 'mp3'],
  ['JSON', 'application/json', 'mp3'],
  ['JSON', 'application/json', 'opus'],
] as const)('%s (%s) is no sound, for %s', async (_name, type, format) => {
  const [engine] = await engineFor(asAudio(type))
  await expect(engine.speak(call({ format }))).rejects.toMatchObject({ kind: 'INFERENCE_FAILED' })
})

test('sound in Ogg may be called so', async () => {
  const [engine] = await engineFor(asAudio('application/ogg'))
  expect(await engine.speak(call({ format: 'opus' }))).toHaveLength(4)
})

test.each([
  [400, { error: { code: 'content_policy_violation', message: 'no' } }, 'CONTENT_POLICY_VIOLATION'],
  [400, { error: { message: 'bad', param: 'voice' } }, 'INVALID_REQUEST'],
  [429, {}, 'MODEL_OVERLOADED'],
  [401, {}, 'MODEL_OFFLINE'],
  [500, {}, 'INFERENCE_FAILED'],
])('a server that answers %i with %j', async (status, body, kind) => {
  const [engine] = await engineFor(asJson(body, status))
  await expect(engine.speak(call())).rejects.toMatchObject({ kind })
})

test('a caller that leaves ends the request', async () => {
  const abort = new AbortController()
  const [engine, server] = await engineFor(() => abort.abort(new Error('left')))
  await expect(engine.speak(call({}, abort.signal))).rejects.toThrow('left')
  await server.left
})

test('another service of this contract is told how to speak in its own word', async () => {
  const server = await upstream(asAudio('audio/mpeg'))
  const engine = new ServiceSpeech({ baseUrl: server.baseUrl })
  onTestFinished(() => server.close())
  onTestFinished(() => engine.close())
  await engine.speak(call({ style: 'Sadly.' }))
  expect(server.seen[0]?.body).toMatchObject({ prompt: 'Sadly.' })
  expect(server.seen[0]?.body).not.toHaveProperty('instructions')
})
