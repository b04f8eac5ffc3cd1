/** Files that are cut off at their end are refused, of every kind; intact ones are taken. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type CheckedFormat, checkWhole } from '#host/media/whole/check-whole.ts'
import { drawn, made, played } from '../../media/made-media.ts'

const film = drawn('testsrc=d=2:s=64x48:r=10,format=yuv420p')
const vp8 = drawn('testsrc=d=2:s=64x48:r=10,format=yuv420p', { encoder: 'libvpx', options: { deadline: 'realtime' } })
const tone = 'sine=d=2:r=48000'
const sound = played(tone)
const opus = played(tone, { encoder: 'libopus', rate: 48_000 })
const movflags = (flags: string) => ({ options: { movflags: flags } })

const kinds: [kind: string, format: CheckedFormat, make: () => Promise<Buffer>][] = [
  ['MP4, index last', 'mp4', () => made('mp4', [film, sound])],
  ['MP4, index first', 'mp4', () => made('mp4', [film, sound], movflags('+faststart'))],
  ['MP4, two audio tracks', 'mp4', () => made('mp4', [film, sound, sound])],
  ['MP4, in fragments', 'mp4', () => made('mp4', [film, sound], movflags('+frag_keyframe+empty_moov'))],
  [
    'MP4, in fragments with an index',
    'mp4',
    () => made('mp4', [film, sound], movflags('+dash+frag_keyframe+empty_moov+global_sidx')),
  ],
  ['MOV', 'mov', () => made('mov', [film, sound])],
  ['MOV, plain samples', 'mov', () => made('mov', [film, played(tone, { encoder: 'pcm_s16le', rate: 48_000 })])],
  ['M4A', 'mp4', () => made('ipod', [sound])],
  ['WebM', 'webm', () => made('webm', [vp8, opus])],
  ['Matroska', 'webm', () => made('matroska', [film, sound])],
  ['WAV', 'wav', () => made('wav', [played(tone, { encoder: 'pcm_s16le' })])],
  ['WAV of 24 bits', 'wav', () => made('wav', [played(tone, { encoder: 'pcm_s24le', channels: 2, rate: 44_100 })])],
  ['MP3', 'mp3', () => made('mp3', [played(tone, { encoder: 'libmp3lame', rate: 44_100, channels: 2 })])],
  ['MP3 of half rates', 'mp3', () => made('mp3', [played(tone, { encoder: 'libmp3lame', rate: 16_000 })])],
  [
    'MP3 without a header that counts',
    'mp3',
    () => made('mp3', [played(tone, { encoder: 'libmp3lame' })], { options: { write_xing: '0' } }),
  ],
  ['MP2', 'mp3', () => made('mp2', [played(tone, { encoder: 'mp2', rate: 44_100 })])],
  ['Ogg, Opus', 'ogg', () => made('ogg', [opus])],
  ['Ogg, Vorbis', 'ogg', () => made('ogg', [played(tone, { encoder: 'libvorbis', rate: 44_100, channels: 2 })])],
  ['FLAC', 'flac', () => made('flac', [played(tone, { encoder: 'flac', rate: 44_100 })])],
  ['AAC', 'aac', () => made('adts', [sound])],
]

describe.each(kinds)('%s', { timeout: 60_000 }, (_kind, format, make) => {
  let file: Buffer
  beforeAll(async () => {
    file = await make()
  })

  test('is taken where it is whole', () => {
    expect(file.length).toBeGreaterThan(1_000)
    expect(() => checkWhole(file, format)).not.toThrow()
  })

  test('is refused where its end is missing', () => {
    const ends = [1, 2, 7, 8, 9, 60, 200, 1_000].map(missing => file.length - missing)
    const parts = [0.3, 0.5, 0.7, 0.9, 0.99].map(part => Math.floor(file.length * part))
    const taken = [...ends, ...parts].filter(end => {
      try {
        checkWhole(file.subarray(0, end), format)
        return true
      } catch (error) {
        expect(error).toMatchObject({ name: 'Unreadable' })
        return false
      }
    })
    expect(taken.map(end => file.length - end)).toEqual([])
  })
})
