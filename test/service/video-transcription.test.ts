import { afterAll, beforeAll, expect, test } from 'vitest'
import { FetchRefused } from '#engines/fetch/fetcher.ts'
import type { TranscriptCall, VideoTranscriber } from '#engines/ports/media-engines.ts'
import { closeSound } from './close-sound.ts'
import { privateSpellings } from './media/private-spellings.ts'
import { type OpenedService, openService } from './open-service.ts'

const video = Buffer.from('\0\0\0\x18ftypisom')
const files: Readonly<Record<string, Buffer>> = {
  'https://files.example/a.mp4': video,
  'https://files.example/page': Buffer.from('<html>'),
  'https://files.example/a.webm': Buffer.from('1a45dfa3', 'hex'),
}

class ScriptedTranscriber implements VideoTranscriber {
  asked: TranscriptCall[] = []
  answer = async (): Promise<{ transcript: string; lang?: string }> => ({ transcript: 'Hello there.', lang: 'en' })

  transcribe(call: TranscriptCall) {
    this.asked.push(call)
    return this.answer()
  }
}

const transcriber = new ScriptedTranscriber()
const said = transcriber.answer
let service: OpenedService
beforeAll(async () => {
  service = await openService({
    transcriber,
    fetcher: {
      async fetch({ url }) {
        const bytes = files[url]
        if (!bytes) throw new FetchRefused('address', 'must be a public address')
        return { url, mimeType: 'video/mp4', charset: null, bytes }
      },
    },
  })
})
afterAll(async () => {
  await closeSound(service)
})

const lines = () => service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()

async function transcribe(body: object, from = service) {
  const before = (await lines()).length
  const response = await from.post('/video/transcriptions', body, await from.key(1))
  return { response, text: await response.text(), charged: (await lines()).length - before }
}

test.each([
  ['§4.6 the words with their language', {}, '{"transcript":"Hello there.","lang":"en"}', 'application/json'],
  ['§4.6 the words alone', { response_format: 'text' }, 'Hello there.', 'text/plain; charset=utf-8'],
])('%s', async (_rule, change, text, type) => {
  const answered = await transcribe({ url: 'https://files.example/a.mp4', ...change })
  expect([answered.response.status, answered.text, answered.charged]).toEqual([200, text, 1])
  expect(answered.response.headers.get('content-type')).toBe(type)
  // The engine is given the file, never the address.
  expect(transcriber.asked.at(-1)).toMatchObject({ bytes: video, mimeType: 'video/mp4' })
  expect(JSON.stringify(Object.keys(transcriber.asked.at(-1) ?? {}))).not.toContain('url')
})

test.each([
  ['no address', {}, 'url'],
  ['an address that is private', { url: 'http://127.0.0.1/' }, 'public address'],
  ['a page', { url: 'https://files.example/page' }, 'not a video'],
  ['another format', { url: 'https://files.example/a.mp4', response_format: 'srt' }, 'text'],
])('§4.6 %s is refused, and costs nothing', async (_rule, body, says) => {
  const { response, text, charged } = await transcribe(body)
  expect([response.status, text, charged]).toEqual([400, expect.stringContaining(says), 0])
})

test('§4.6 an engine that fails costs nothing', async () => {
  transcriber.answer = () => Promise.reject(new Error('down'))
  const { response, charged } = await transcribe({ url: 'https://files.example/a.webm' })
  transcriber.answer = said
  expect([response.status, charged]).toEqual([500, 0])
})

test('G1 the guarded fetcher stands before every private address', async () => {
  const guarded = await openService({ transcriber })
  const asked = transcriber.asked.length
  const key = await guarded.key(1)
  for (const [, url] of privateSpellings.filter(([how]) => !how.includes('name'))) {
    guarded.clock.pass(60_000)
    const response = await guarded.post('/video/transcriptions', { url }, key)
    expect([url, response.status]).toEqual([url, 400])
  }
  expect(transcriber.asked.length).toBe(asked)
  await guarded.close()
})

test('a service without a transcriber says so', async () => {
  const bare = await openService()
  const response = await bare.post('/video/transcriptions', { url: 'https://files.example/a.mp4' }, await bare.key(1))
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('cannot transcribe videos')])
  await bare.close()
})
