import { expect, test } from 'vitest'
import { headBytes, sniffType } from '#contract/wire/media-type.ts'

const bytes = (hex: string, text = '') =>
  Buffer.concat([Buffer.from(hex, 'hex'), Buffer.from(text, 'latin1')]).subarray(0, headBytes)

test.each([
  ['a video', bytes('00000018', 'ftypisom'), 'video/mp4'],
  ['a song in the same box', bytes('00000018', 'ftypM4A '), 'audio/mp4'],
  ['QuickTime', bytes('00000014', 'ftypqt  '), 'video/quicktime'],
  ['QuickTime from before that box', bytes('00000008', 'wide'), 'video/quicktime'],
  ['a box without a name', bytes('00000018', 'ftyp\0\0\0\0'), null],
  ['Matroska', bytes('1a45dfa3'), 'video/webm'],
  ['a PNG', bytes('89504e470d0a1a0a'), 'image/png'],
  ['a JPEG', bytes('ffd8ffe0'), 'image/jpeg'],
  ['a WebP', bytes('', 'RIFF\0\0\0\0WEBP'), 'image/webp'],
  ['a GIF', bytes('', 'GIF89a'), 'image/gif'],
  ['a WAV', bytes('', 'RIFF\0\0\0\0WAVE'), 'audio/wav'],
  ['another RIFF', bytes('', 'RIFF\0\0\0\0AVI '), null],
  ['an MP3 with a tag', bytes('', 'ID3'), 'audio/mpeg'],
  ['a frame of layer III', bytes('fffb'), 'audio/mpeg'],
  ['a frame of layer II', bytes('fffd'), 'audio/mpeg'],
  ['a frame of no layer', bytes('ffe0'), null],
  ['AAC', bytes('fff1'), 'audio/aac'],
  ['a FLAC', bytes('', 'fLaC'), 'audio/flac'],
  ['an Ogg', bytes('', 'OggS'), 'audio/ogg'],
  ['a page', bytes('', '<html>'), null],
  ['nothing', bytes(''), null],
])('%s is known by its first bytes', (_what, head, type) => {
  expect(sniffType(head)).toBe(type)
})
