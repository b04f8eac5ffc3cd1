/** Truncated files of every kind are refused; intact ones are accepted and measured. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type CheckedFormat, checkWhole } from '#host/media/whole/check-whole.ts'
import { flacOfHeads, nestedBoxes, nestedElements, silentFlac, videoOfSamples } from '../../media/hostile-media.ts'
import { drawn, made, played } from '../../media/made-media.ts'
import { tracksOf } from '../../media/tracks-of.ts'

const video = drawn('testsrc=d=2:s=64x48:r=10,format=yuv420p')
const vp8 = drawn('testsrc=d=2:s=64x48:r=10,format=yuv420p', { encoder: 'libvpx', options: { deadline: 'realtime' } })
const tone = 'sine=d=2:r=48000'
const audio = played(tone)
const opus = played(tone, { encoder: 'libopus', rate: 48_000 })
const movflags = (flags: string) => ({ options: { movflags: flags } })

const kinds: [kind: string, format: CheckedFormat, make: () => Promise<Buffer>][] = [
  ['MP4, index last', 'mp4', () => made('mp4', [video, audio])],
  ['MP4, index first', 'mp4', () => made('mp4', [video, audio], movflags('+faststart'))],
  ['MP4, two audio tracks', 'mp4', () => made('mp4', [video, audio, audio])],
  ['MP4, in fragments', 'mp4', () => made('mp4', [video, audio], movflags('+frag_keyframe+empty_moov'))],
  [
    'MP4, in fragments with an index',
    'mp4',
    () => made('mp4', [video, audio], movflags('+dash+frag_keyframe+empty_moov+global_sidx')),
  ],
  ['MOV', 'mov', () => made('mov', [video, audio])],
  ['MOV, plain samples', 'mov', () => made('mov', [video, played(tone, { encoder: 'pcm_s16le', rate: 48_000 })])],
  ['M4A', 'mp4', () => made('ipod', [audio])],
  ['WebM', 'webm', () => made('webm', [vp8, opus])],
  ['Matroska', 'webm', () => made('matroska', [video, audio])],
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
  ['AAC', 'aac', () => made('adts', [audio])],
]

describe.each(kinds)('%s', { timeout: 60_000 }, (_kind, format, make) => {
  let file: Buffer
  beforeAll(async () => {
    file = await make()
  })

  test('is taken where it is whole, and says how much is in it', async () => {
    expect(file.length).toBeGreaterThan(1_000)
    const { seconds, packets } = checkWhole(file, format)
    if (['mp4', 'mov', 'webm'].includes(format)) {
      const tracks = await tracksOf(file)
      expect(packets).toBe(tracks.reduce((sum, track) => sum + track.packets, 0))
    } else if (format === 'ogg') expect(seconds).toBeNull()
    else expect(Math.abs((seconds ?? 0) - 2)).toBeLessThan(0.2)
  })

  test('is answered with no other error, whatever is damaged in it', () => {
    let random = 7
    const next = (below: number) => {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31
      return random % below
    }
    for (let round = 0; round < 400; round++) {
      const damaged = Buffer.from(file)
      // The beginning holds most of what is read.
      for (let change = 0; change <= round % 8; change++)
        damaged[next(round % 2 ? damaged.length : 2_000)] = [0, 1, 0x7f, 0xff][next(4)] ?? next(256)
      try {
        checkWhole(damaged, format)
      } catch (error) {
        expect(error).toMatchObject({ name: 'Unreadable' })
      }
    }
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

describe('G21: a file built to cost its reader much', () => {
  const refused: [rule: string, format: CheckedFormat, file: () => Buffer][] = [
    ['boxes within each other', 'mp4', () => nestedBoxes('moov', 4_000)],
    ['so many that a stack holds none of them', 'mov', () => nestedBoxes('trak', 200_000)],
    ['boxes of fragments within each other', 'mp4', () => nestedBoxes('traf', 200_000)],
    [
      'elements within each other, the last of them without a size',
      'webm',
      () => nestedElements('18538067', 200_000).subarray(0, -8),
    ],
    ['heads of frames without their frames', 'flac', () => flacOfHeads(30_000)],
  ]
  test.each(refused)('is refused for what it is: %s', (_rule, format, file) => {
    const bytes = file()
    const startedMs = performance.now()
    expect(() => checkWhole(bytes, format)).toThrow(expect.objectContaining({ name: 'Unreadable' }))
    // By the square of their number the heads took minutes.
    expect(performance.now() - startedMs).toBeLessThan(5_000)
  })

  test('elements within each other are walked one after the other', () => {
    expect(checkWhole(nestedElements('18538067', 200_000), 'webm').packets).toBe(0)
  })

  test('its tables say how many packets there are, whichever of them says more', () => {
    expect(checkWhole(videoOfSamples(1_000), 'mp4').packets).toBe(1_000)
    expect(checkWhole(videoOfSamples(1_500_000, { sizes: 3 }), 'mp4').packets).toBe(1_500_000)
  })

  test('its header says how long it is, or its last frame does', () => {
    expect(checkWhole(silentFlac(655_350, 100), 'flac').seconds).toBeCloseTo(100, 0)
    expect(checkWhole(silentFlac(655_350, 100, 0n), 'flac').seconds).toBeCloseTo(100, 0)
    expect(checkWhole(silentFlac(655_350, 100, 1n), 'flac').samples).toBeGreaterThan(65_000_000)
  })
})
