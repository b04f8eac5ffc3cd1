import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closeSound } from '../service/close-sound.ts'
import { type OpenedService, openService } from '../service/open-service.ts'

/** The stock client before the real service, in this process; `stock-openai.test.ts` has the one with a socket. */
let service: OpenedService
let openai: OpenAI
beforeAll(async () => {
  service = await openService()
  const apiKey = await service.key(1)
  const fetch = async (url: string | URL | Request, init?: RequestInit) =>
    service.service.app.fetch(new Request(url, init))
  openai = new OpenAI({ baseURL: 'http://127.0.0.1:8402/api/v1', apiKey, maxRetries: 0, fetch })
})
afterAll(async () => {
  await closeSound(service)
})

test('speaks, and writes down what was spoken', async () => {
  const speech = await openai.audio.speech.create({
    ...{ model: 'demo-speech', voice: 'demo-high', input: 'Good morning', response_format: 'wav' },
  })
  expect(speech.headers.get('content-type')).toBe('audio/wav')
  const file = await toFile(Buffer.from(await speech.arrayBuffer()), 'morning.wav')
  const { text } = await openai.audio.transcriptions.create({ model: 'demo-asr', file })
  expect(text).toContain('does not recognize speech. It received wav audio of 0.9 seconds.')
  const plain = await openai.audio.transcriptions.create({ model: 'demo-asr', file, response_format: 'text' })
  expect(plain).toBe(text)
})

test('meets our refusals as its own errors', async () => {
  const voice = 'alloy'
  await expect(openai.audio.speech.create({ model: 'demo-speech', voice, input: 'x' })).rejects.toBeInstanceOf(
    OpenAI.BadRequestError,
  )
  const file = await toFile(Buffer.from('words'), 'words.wav')
  await expect(openai.audio.transcriptions.create({ model: 'demo-asr', file })).rejects.toMatchObject({ status: 400 })
})
