/** Audio and video that a chat brings along: known by their bytes and whole, or refused before anything is held. */

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { clip } from '../engines/video-media/example-clips.ts'
import { nestedBoxes } from '../media/hostile-media.ts'
import { type ChatFixture, openFixture } from './chat-fixture.ts'
import { used } from './chat-script.ts'
import { closeSound } from './close-sound.ts'
import { textModel } from './models/example-models.ts'

const clips: Record<string, Buffer> = {}
let fixture: ChatFixture
beforeAll(async () => {
  const { capabilities } = textModel()
  const model = { capabilities: { ...capabilities, supportsAudioInput: true, supportsVideoInput: true } }
  fixture = await openFixture({ model })
  for (const format of ['wav', 'mp3', 'mp4', 'mov', 'webm'] as const) clips[format] = await clip(format, 1)
}, 60_000)
afterEach(() => fixture.service.clock.pass(60_000))
afterAll(async () => {
  await closeSound(fixture.service)
})

const file = (name: string): Buffer => clips[name] ?? Buffer.alloc(0)
const cut = (bytes: Buffer) => bytes.subarray(0, Math.floor(bytes.length * 0.7))
const audio = (bytes: Buffer, format?: string) => ({
  type: 'input_audio',
  input_audio: { data: bytes.toString('base64'), ...(format ? { format } : {}) },
})
const video = (bytes: Buffer, type = 'video/mp4') => ({
  type: 'video_url',
  video_url: { url: `data:${type};base64,${bytes.toString('base64')}` },
})

async function send(part: object, usd = 10) {
  fixture.engine.play([{ text: 'A tram' }, { usage: used(20, 2) }])
  const customer = await fixture.customer(usd)
  const asked = fixture.engine.calls.length
  const content = [{ type: 'text', text: 'What is this?' }, part]
  const response = await fixture.chat(customer, { max_tokens: 4, messages: [{ role: 'user', content }] })
  const { charged } = await fixture.ledger(customer.account)
  return { status: response.status, text: await response.text(), charged, asked: fixture.engine.calls.length - asked }
}

const aiff = (bytes: number, says = bytes) => {
  const head = Buffer.from('FORM\0\0\0\0AIFF')
  head.writeUInt32BE(says + 4, 4)
  return Buffer.concat([head, Buffer.alloc(bytes)])
}

test.each<[medium: string, part: () => object]>([
  ['a WAV', () => audio(file('wav'), 'wav')],
  ['an MP3', () => audio(file('mp3'), 'mp3')],
  ['an MP3 of which nothing is said', () => audio(file('mp3'))],
  ['an AIFF', () => audio(aiff(8), 'aiff')],
  ['samples without a header', () => audio(Buffer.alloc(64), 'pcm16')],
  ['an MP4', () => video(file('mp4'))],
  ['a MOV', () => video(file('mov'), 'video/quicktime')],
  ['a WebM', () => video(file('webm'), 'video/webm')],
  ['an MPEG stream', () => video(Buffer.from('000001ba44000400', 'hex'), 'video/mpeg')],
])('%s that is whole reaches the engine as it was sent', async (_medium, part) => {
  const given = part()
  expect(await send(given)).toMatchObject({ status: 200, charged: 40n, asked: 1 })
  expect(fixture.engine.calls.at(-1)?.request.messages[0]?.content?.[1]).toEqual(given)
})

const data = /"path":\["messages",0,"content",1,"input_audio","data"\]/
const url = /"path":\["messages",0,"content",1,"video_url","url"\]/
test.each<[medium: string, part: () => object, field: RegExp, says: string]>([
  ['an MP3 that is cut off', () => audio(cut(file('mp3')), 'mp3'), data, 'cut off'],
  ['a WAV that is cut off', () => audio(cut(file('wav')), 'wav'), data, 'cut off'],
  ['an AIFF that is cut off', () => audio(aiff(8, 80), 'aiff'), data, 'cut off'],
  ['half a sample', () => audio(Buffer.alloc(63), 'pcm16'), data, 'a multiple of 2 bytes'],
  ['a file that is not audio', () => audio(Buffer.alloc(3), 'mp3'), data, 'WAV, MP3, FLAC'],
  ['text that is not base64', () => ({ type: 'input_audio', input_audio: { data: '****' } }), data, 'not valid base64'],
  ['an MP3 that is said to be a WAV', () => audio(file('mp3'), 'wav'), /"input_audio","format"\]/, 'the bytes are mp3'],
  ['an MP4 that is cut off', () => video(cut(file('mp4'))), url, 'cut off'],
  ['a WebM that is cut off', () => video(cut(file('webm')), 'video/webm'), url, 'cut off'],
  ['boxes within each other', () => video(nestedBoxes('moov', 4_000)), url, 'cut off or damaged'],
  ['a file that is not a video', () => video(Buffer.from('GIF89a')), url, 'not MP4'],
])('G23: %s is refused before anything is held', async (_medium, part, field, says) => {
  const { status, text, charged, asked } = await send(part())
  expect([status, text, charged, asked]).toEqual([400, expect.stringMatching(field), 0n, 0])
  expect(text).toContain(says)
  expect(await fixture.openHolds()).toBe(0)
})

test('nothing is read for a caller who could not pay for the chat', async () => {
  expect(await send(audio(cut(file('mp3')), 'mp3'), 0.000_001)).toMatchObject({ status: 402, asked: 0 })
})
