import fc from 'fast-check'
import { expect, test } from 'vitest'
import { audioLength } from '#engines/audio/audio-codec.ts'
import { audioOfWav, wavSeconds } from '#engines/audio/recording.ts'
import { silentFlac } from '../../../media/hostile-media.ts'
import { wavOfChunks } from '../../wav-of-chunks.ts'

const { signal } = new AbortController()

const plain = fc.record({
  tag: fc.constantFrom(1, 3),
  channels: fc.constantFrom(1, 2, 6),
  rate: fc.constantFrom(1_000, 8_000, 44_100, 192_000, 768_000),
  bits: fc.constantFrom(8, 16, 24, 32),
})
const wild = fc.record(
  {
    tag: fc.constantFrom(1, 3, 2, 6, 0xfffe),
    channels: fc.constantFrom(1, 2, 0),
    rate: fc.constantFrom(8_000, 768_001, 0, 0xffff_ffff),
    bits: fc.constantFrom(16, 12, 0, 64),
    bytesPerSecond: fc.constantFrom(0, 1, 16_000, 0xffff_ffff),
    frameBytes: fc.constantFrom(0, 1, 2, 4, 0xffff),
  },
  { requiredKeys: [] },
)
const sizes = fc.oneof(fc.constant([96_000]), fc.array(fc.constantFrom(2, 7, 96_000), { minLength: 1, maxLength: 3 }))

test('whatever a header claims, a length that is read from it is that of the decoded sound', {
  timeout: 120_000,
}, async () => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(fc.oneof(plain, wild), sizes, async (claimed, data) => {
      const bytes = wavOfChunks(claimed, data)
      const read = wavSeconds(bytes)
      const audio = audioOfWav(bytes)
      // A part of a last sample is length, and no sample.
      if (audio) expect(Math.abs(audio.samples.length / audio.rate - (read ?? -1))).toBeLessThan(1 / audio.rate)
      // What is too short may be nothing once it is sampled anew.
      if (read === null || read < 0.01) return
      compared++
      const decoded = await audioLength({ bytes, type: 'wav' }, { atMostSeconds: 3_600, signal })
      expect(Math.abs(read - (typeof decoded === 'string' ? -1 : decoded.seconds))).toBeLessThan(0.01)
    }),
    { numRuns: 60 },
  )
  expect(compared).toBeGreaterThan(0)
})

test.each([
  ['bytes a second that are not so', { bytesPerSecond: 0xffff_ffff }, [160_000]],
  ['frames that are not so', { frameBytes: 4, bytesPerSecond: 16_000 }, [160_000]],
  ['samples in two places', {}, [2, 160_000]],
  ['samples in two places after an odd number', {}, [7, 160_000]],
  ['a rate beyond all', { rate: 400_000_000 }, [160_000]],
  ['a compressed format', { tag: 2 }, [160_000]],
] as const)('a WAV with %s is not read by its header', (_claim, claimed, sizes) => {
  const bytes = wavOfChunks(claimed, sizes)
  expect([wavSeconds(bytes), audioOfWav(bytes)]).toEqual([null, null])
})

test('G21: hours of silence at the highest rate are not decoded', { timeout: 120_000 }, async () => {
  const length = (seconds: number) =>
    audioLength({ bytes: silentFlac(655_350, seconds), type: 'flac' }, { atMostSeconds: 7_200, signal })
  // Decoding would end at 7,201 s, after a minute.
  expect(await length(8_000)).toEqual({ seconds: expect.closeTo(8_000, 0) })
  // Within the seconds that are taken, and more samples than any such recording has.
  expect(await length(7_000)).toBe('broken')
})
