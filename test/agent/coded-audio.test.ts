/** Encoded audio that is labelled as samples is longer than its header says; FFmpeg, which services use to measure, finds its real length. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mostSecondsOf } from '#agent/prices/price-audio.ts'
import type { AudioTrack } from '#host/media/tasks.ts'
import { made, played, samplesOf } from '../media/made-media.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'

const headers = [
  { rate: 48_000, channels: 2 },
  { rate: 768_000, channels: 2 },
  { rate: 8_000, channels: 1 },
  { rate: 48_000, channels: 2, bits: 24 },
  { rate: 48_000, channels: 2, bits: 32 },
  { rate: 48_000, channels: 1, bits: 8 },
]

describe.each<[name: string, format: string, change: Partial<AudioTrack>]>([
  ['MP3', 'mp3', { encoder: 'libmp3lame', options: { b: '8k' }, rate: 8_000 }],
  ['MP2', 'mp2', { encoder: 'mp2' }],
  ['MP2 of half rates', 'mp2', { encoder: 'mp2', options: { b: '8k' }, rate: 16_000 }],
  ['AAC', 'adts', { encoder: 'aac' }],
  ['AAC of the other frame', 'latm', { encoder: 'aac' }],
  ['AC-3', 'ac3', { encoder: 'ac3' }],
  ['AC-3 at 44,100', 'ac3', { encoder: 'ac3', rate: 44_100 }],
  ['E-AC-3', 'eac3', { encoder: 'eac3' }],
  ['DTS', 'dts', { encoder: 'dca', options: { strict: '-2' } }],
  ['TrueHD', 'truehd', { encoder: 'truehd', options: { strict: '-2' } }],
  ['AC-3 for a digital line', 'spdif', { encoder: 'ac3' }],
])('%s', (_name, format, change) => {
  test('has no length, or at least the one that is decoded', { timeout: 60_000 }, async () => {
    const coded = await made(format, [played('sine=d=20:r=48000', { rate: 48_000, ...change })])
    expect(coded.length).toBeGreaterThan(10_000)
    for (const header of headers) {
      const wav = wavOfChunks(header, [coded])
      const most = mostSecondsOf(wav)
      if (most === null) continue
      const decoded = await samplesOf(wav, 'wav', 8_000).catch(() => Buffer.alloc(0))
      expect(decoded.length / 2 / 8_000).toBeLessThanOrEqual(most)
    }
  })
})

/** Samples of noise so loud, and of a tone. */
const sounds = [1, 3, 30, 300, 3_000, 32_767].flatMap(loudest => {
  const noise = fc.sample(fc.integer({ min: -loudest, max: loudest }), { numRuns: 60_000, seed: loudest })
  const tone = Array.from({ length: 60_000 }, (_, at) => Math.round(Math.sin(at / 20) * loudest))
  return [noise, tone].map(samples => Buffer.from(Int16Array.from(samples).buffer))
})

test('real samples have the length of their header, and a second more', () => {
  for (const data of sounds) expect(mostSecondsOf(wavOfChunks({ rate: 8_000 }, [data]))).toBe(8 + 1)
})

/** What a dictating machine writes: silence of the header's samples, one mark, the length, and frames of ten bytes. */
const dictation = wavOfChunks({ rate: 8_000, channels: 2, bits: 32 }, [60_000])
dictation[256] = 0x84

const tag = Buffer.from('494433040000000000' + '03000000', 'hex')
const mp3Frame = Buffer.concat([Buffer.from('fffb1064', 'hex'), Buffer.alloc(100)])
/** AAC of eight bytes a frame, an eighth of a second each. */
const aac = Buffer.concat(Array.from({ length: 200 }, () => Buffer.from('fff15c40011ffc00', 'hex')))

test.each([
  ['a dictation in a WAV of samples', dictation],
  ['FLAC behind a tag of MP3', Buffer.concat([tag, Buffer.from('fLaC'), Buffer.alloc(1_000)])],
  ['Ogg behind two tags', Buffer.concat([tag, tag, Buffer.from('OggS'), Buffer.alloc(1_000)])],
  ['a tag that is longer than its file', Buffer.from('4944330400007f7f7f7f00', 'hex')],
  ['AAC behind one frame of MP3', Buffer.concat([mp3Frame, aac])],
])('%s has no length', (_, file) => {
  expect(mostSecondsOf(file)).toBeNull()
})

test('MP3 has a length, with tags and without', () => {
  const frames = Buffer.concat(Array.from({ length: 60 }, () => mp3Frame))
  for (const file of [frames, Buffer.concat([tag, frames]), Buffer.concat([tag, tag, frames])])
    expect(mostSecondsOf(file)).toBe(Math.ceil((file.length * 8) / 6_000) + 1)
})
