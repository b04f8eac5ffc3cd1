/** Videos and files of a chat (published contract §5.1): by an address or as bytes, for models that say so. */

import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { FetchRefused } from '#engines/fetch/fetcher.ts'
import type { FetchedFile, FetchOrder } from '#engines/fetch/guarded-fetcher.ts'
import { videoBytes } from '#engines/video-media/media-limits.ts'
import { lineLog } from '#host/log.ts'
import { fetchMedia, filesCharacters, mediaNamedIn } from '#service/capabilities/chat/chat-media.ts'
import { CountedFetcher } from '#service/http/route.ts'
import type { TextModel } from '#service/models/model.ts'
import { type ChatFixture, openFixture } from './chat-fixture.ts'
import { used } from './chat-script.ts'
import { closeSound } from './close-sound.ts'
import { textModel } from './models/example-models.ts'

const ftyp = (brand: string) => Buffer.concat([Buffer.from([0, 0, 0, 16]), Buffer.from(`ftyp${brand}\0\0\0\0`)])
/** Boxes of no track: whole, and nothing to see. */
const boxes = (brand: string, bytes = 0) => {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(bytes + 8)
  head.write('free', 4, 'latin1')
  return Buffer.concat([ftyp(brand), Buffer.from('\0\0\0\x08moov', 'latin1'), head, Buffer.alloc(bytes)])
}
const mp4 = boxes('isom')
const html = Buffer.from('<!doctype html><p>The fare is <b>two</b> crowns.</p>')

let found: Partial<FetchedFile> | FetchRefused = {}
let orders: FetchOrder[] = []
const fixtures: ChatFixture[] = []

async function fixtureFor(model: Partial<TextModel>): Promise<ChatFixture> {
  const fetch = async (order: FetchOrder): Promise<FetchedFile> => {
    orders.push(order)
    if (found instanceof FetchRefused) throw found
    return { url: order.url, mimeType: 'video/mp4', charset: null, bytes: mp4, ...found }
  }
  const fixture = await openFixture({ fetcher: { fetch }, model })
  fixtures.push(fixture)
  return fixture
}

let videos: ChatFixture
let texts: ChatFixture
let engines: ChatFixture
beforeAll(async () => {
  const { capabilities } = textModel()
  videos = await fixtureFor({ capabilities: { ...capabilities, supportsVideoInput: true } })
  texts = await fixtureFor({ files: 'text' })
  engines = await fixtureFor({ files: 'engine' })
})
afterEach(() => {
  for (const { service } of fixtures) service.clock.pass(60_000)
  found = {}
  orders = []
})
afterAll(async () => {
  for (const fixture of fixtures) {
    await closeSound(fixture.service)
  }
})

const address = 'https://files.example/a'
const video = (url = address) => ({ type: 'video_url', video_url: { url } })
const file = (data = address, filename?: string) => ({
  type: 'file',
  file: { file_data: data, ...(filename ? { filename } : {}) },
})
const dataUrl = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`

async function send(fixture: ChatFixture, parts: object[], usd = 10) {
  fixture.engine.play([{ text: 'A tram' }, { usage: used(20, 2) }])
  const content = [{ type: 'text', text: 'What is this?' }, ...parts]
  const customer = await fixture.customer(usd)
  const response = await fixture.chat(customer, { max_tokens: 4, messages: [{ role: 'user', content }] })
  const text = await response.text()
  const shown = fixture.engine.calls.at(-1)?.request.messages[0]?.content as unknown[] | undefined
  return {
    status: response.status,
    text,
    shown: shown?.slice(1),
    charged: (await fixture.ledger(customer.account)).charged,
  }
}

test('§5.1 a video at a URL is fetched once, up to its maximum size, and passed on with the type of its bytes', async () => {
  found = { mimeType: 'text/html' }
  const { status, shown, charged } = await send(videos, [video(), video()])
  const given = video(dataUrl('video/mp4', mp4))
  expect([status, shown, charged]).toEqual([200, [given, given], 40n])
  expect(orders.map(({ url, accept, mostBytes }) => [url, accept, mostBytes <= videoBytes])).toEqual([
    [address, 'video/*', true],
  ])
})

test.each([
  ['MOV', boxes('qt  '), 'video/quicktime'],
  ['WebM', Buffer.from('1a45dfa3874282847765626d', 'hex'), 'video/webm'],
  ['MPEG', Buffer.from('000001ba44000400', 'hex'), 'video/mpeg'],
])('§5.1 %s is one of the formats', async (_name, bytes, type) => {
  found = { bytes }
  expect(await send(videos, [video()])).toMatchObject({ status: 200, shown: [video(dataUrl(type, bytes))] })
})

test.each<[rule: string, what: Partial<FetchedFile> | FetchRefused, parts: object[], says: RegExp]>([
  ['no video', { bytes: html }, [video()], /"path":\["messages",0,"content",1,"video_url","url"\].*not MP4/],
  ['a private address', new FetchRefused('address', 'must be a public address'), [video()], /public address/],
  ['too much', new FetchRefused('too_large', 'it has more than 9 bytes'), [video()], /could not be fetched/],
  ['the eleventh address', {}, Array.from({ length: 11 }, (_, each) => video(`${address}${each}`)), /at most 10/],
])('§5.1 %s is a 400 that names the field, and free', async (_rule, what, parts, says) => {
  found = what
  const { status, text, charged } = await send(videos, parts)
  expect([status, text, charged]).toEqual([400, expect.stringMatching(says), 0n])
})

test('the hold of a video is computed from its bytes, and nothing is fetched for a caller who cannot pay', async () => {
  // A token for 32 characters of base64, at a micro-USD each.
  found = { bytes: boxes('isom', 1_200_000) }
  expect([(await send(videos, [video()], 0.03)).status, orders.length]).toEqual([402, 1])
  expect([(await send(videos, [video()], 0.000_001)).status, orders.length]).toEqual([402, 1])
  expect((await send(videos, [video()], 1)).status).toBe(200)
})

test.each([
  ['at an address', address],
  ['as bytes', dataUrl('text/html', html)],
])('a file %s is read, and its text replaces it', async (_where, data) => {
  found = { bytes: html, mimeType: 'text/html' }
  const { status, shown, charged } = await send(texts, [file(data, 'fares.html')])
  expect([status, charged]).toEqual([200, 40n])
  expect(shown).toEqual([{ type: 'text', text: 'The file "fares.html":\n\nThe fare is two crowns.' }])
})

test('a file for an engine that reads files is handed on, fetched where it is named by an address', async () => {
  found = { bytes: html, mimeType: 'text/html' }
  const given = dataUrl('application/pdf', Buffer.from('%PDF-'))
  const { status, shown } = await send(engines, [file(address, 'a.html'), file(given)])
  expect([status, shown]).toEqual([200, [file(dataUrl('text/html', html), 'a.html'), file(given)]])
})

test.each<[rule: string, fixture: () => ChatFixture, part: object, says: RegExp]>([
  [
    'for a model that does not say so',
    () => videos,
    file(),
    /does not accept file; allowed values: text, image_url, video_url/,
  ],
  ['that is not a document', () => texts, file(dataUrl('application/zip', Buffer.from('PK\x03\x04'))), /is not a PDF/],
  ['that is not base64', () => texts, file('data:text/plain;base64,%%%'), /not valid base64/],
  ['at a place of this machine', () => texts, file('file:///etc/passwd'), /must be a URL or a data URL/],
])('a file %s is a 400, and free', async (_rule, fixture, part, says) => {
  const { status, text, charged } = await send(fixture(), [part])
  expect([status, text, charged]).toEqual([400, expect.stringMatching(says), 0n])
})

/** Three small files, each of which the reader turns into this many characters after this many milliseconds. */
async function readThree(characters: number, ms = 0) {
  let reads = 0
  const read = async () => {
    reads++
    vi.advanceTimersByTime(ms)
    return 'a'.repeat(characters)
  }
  const model = textModel({ files: 'text' })
  const content = [1, 2, 3].map(each => file(dataUrl('text/plain', Buffer.from(`${each}`))))
  const request = { model: model.id, messages: [{ role: 'user', content }] } as ChatCompletionRequest
  let room = 0
  const add = (bytes: number) => {
    room += bytes
  }
  const fetcher = new CountedFetcher({ fetch: () => Promise.reject(new Error('Nothing is fetched.')) }, { add })
  const log = lineLog(() => undefined)
  const fetching = { fetcher, documents: { read }, log, model, signal: new AbortController().signal }
  vi.useFakeTimers({ toFake: ['performance'] })
  const refusal = await fetchMedia(mediaNamedIn(request, model, 0), fetching).then(
    () => null,
    (error: ServiceError) => JSON.stringify(error.body),
  )
  vi.useRealTimers()
  return { reads, refusal, isCounted: room >= reads * characters }
}

const third = filesCharacters / 3
test.each<[rule: string, characters: number, ms: number, reads: number, says: RegExp | null]>([
  ['with as much text as one document may have are read', Math.floor(third) - 1_000, 0, 3, null],
  ['that unfold to more text than one document may have', Math.ceil(third), 0, 3, /more than 10000000 characters/],
  ['that take longer than a minute', 1, 40_000, 2, /took too long to read/],
])('D2: files of one request %s', async (_rule, characters, ms, reads, says) => {
  const read = await readThree(characters, ms)
  expect(read).toEqual({ reads, refusal: says ? expect.stringMatching(says) : null, isCounted: true })
})

test('Responses take files too', async () => {
  texts.engine.play([{ text: 'A tram' }, { usage: used(20, 2) }])
  const { key } = await texts.customer(1)
  const content = [{ type: 'input_file', file_data: dataUrl('text/plain', Buffer.from('two crowns')) }]
  const body = { model: 'scripted', max_output_tokens: 4, input: [{ role: 'user', content }] }
  expect((await texts.service.post('/responses', body, key)).status).toBe(200)
  expect(JSON.stringify(texts.engine.calls.at(-1)?.request.messages)).toContain('two crowns')
})
