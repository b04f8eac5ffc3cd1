import { expect, onTestFinished, test } from 'vitest'
import { OpenAiTranscription } from '#engines/openai/audio.ts'
import type { TranscriptionCall } from '#engines/ports/media-engines.ts'
import { ServiceTranscription } from '#engines/service/service-engines.ts'
import { engines } from './asked-engine.ts'
import { asJson, upstream } from './upstream.ts'

const engineFor = engines(OpenAiTranscription)

const bytes = Buffer.from('RIFF…')

const call = (change: Partial<TranscriptionCall> = {}): TranscriptionCall => ({
  recording: { bytes, type: 'wav' },
  timestamps: false,
  engineModel: 'inner',
  signal: new AbortController().signal,
  ...change,
})

test('a recording goes as a form, under a name of ours', async () => {
  const [engine, server] = await engineFor(asJson({ text: 'two words' }))
  expect(await engine.transcribe(call({ language: 'de' }))).toEqual({ text: 'two words', seconds: null })
  const { file, ...fields } = server.seen[0]?.body ?? {}
  expect(server.seen[0]?.url).toBe('/v1/audio/transcriptions')
  expect(fields).toEqual({ model: 'inner', response_format: 'json', language: 'de' })
  if (!(file instanceof File)) throw new Error('There was no file.')
  expect([file.name, Buffer.from(await file.arrayBuffer())]).toEqual(['audio.wav', bytes])
})

test('times are asked for, and come as the contract has them', async () => {
  const words = [{ word: 'hi', start: 0, end: 0.5, probability: 1 }]
  const segments = [{ id: 0, text: 'hi', start: 0, end: 0.5, tokens: [1] }]
  const [engine, server] = await engineFor(asJson({ text: 'hi', duration: '0.75', words, segments }))
  expect(await engine.transcribe(call({ timestamps: true }))).toEqual({
    text: 'hi',
    seconds: 0.75,
    timestamps: { word: [{ word: 'hi', start: 0, end: 0.5 }], segment: [{ text: 'hi', start: 0, end: 0.5 }] },
  })
  expect(server.seen[0]?.body).toMatchObject({
    response_format: 'verbose_json',
    'timestamp_granularities[]': ['word', 'segment'],
  })
})

test.each([
  ['no text', { segments: [] }],
  ['no JSON', 'words'],
  ['invalid words', { text: 'x', words: [{ word: 1 }] }],
])('%s is no transcription', async (_name, value) => {
  const [engine] = await engineFor(asJson(value))
  await expect(engine.transcribe(call())).rejects.toMatchObject({ kind: 'INFERENCE_FAILED' })
})

test.each([
  [400, { error: { message: 'Audio file might be corrupted or unsupported' } }, 'ASR_UPSTREAM_VALIDATION_FAILED'],
  [400, { error: { message: 'bad', param: 'file' } }, 'ASR_UPSTREAM_VALIDATION_FAILED'],
  [400, { error: { message: 'bad', param: 'language' } }, 'INVALID_REQUEST'],
  [429, {}, 'MODEL_OVERLOADED'],
  [401, {}, 'MODEL_OFFLINE'],
  [500, {}, 'INFERENCE_FAILED'],
])('a server that answers %i with %j', async (status, body, kind) => {
  const [engine] = await engineFor(asJson(body, status))
  await expect(engine.transcribe(call({ language: 'xx' }))).rejects.toMatchObject({ kind })
})

test('another service of this contract is asked for times in its own way', async () => {
  const timestamps = { word: [{ word: 'hi', start: 0, end: 0.5 }], segment: [{ text: 'hi', start: 0, end: 0.5 }] }
  const server = await upstream(asJson({ text: 'hi', duration: 0.75, timestamps }))
  const engine = new ServiceTranscription({ baseUrl: server.baseUrl })
  onTestFinished(() => server.close())
  onTestFinished(() => engine.close())
  expect(await engine.transcribe(call({ timestamps: true }))).toEqual({ text: 'hi', seconds: 0.75, timestamps })
  const { file: _, ...fields } = server.seen[0]?.body ?? {}
  expect(fields).toEqual({ model: 'inner', response_format: 'json', timestamps: 'true' })
})
