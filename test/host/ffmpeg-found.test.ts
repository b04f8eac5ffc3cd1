import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { encodableFormats } from '#engines/audio/audio-codec.ts'
import { Ffmpeg } from '#engines/ffmpeg/ffmpeg.ts'
import { audioEncoders, videoEncoders } from '#host/media/ffmpeg.ts'
import { requireFfmpeg } from '#host/media/media-workers.ts'
import { temporaryFolder } from '../temporary-folder.ts'

let folder: string
beforeAll(() => {
  folder = temporaryFolder('test')
})

/** In place of the media process: one whose FFmpeg has these encoders, or is missing. */
async function having(name: string, encoders: readonly string[] | null): Promise<string> {
  const path = join(folder, `${name}.mjs`)
  const said = encoders
    ? `{ answer: task.filter(name => !${JSON.stringify(encoders)}.includes(name)) }`
    : "{ problem: 'missing', words: '' }"
  await writeFile(path, `process.on('message', ({ task }) => process.send(${said}))`)
  return path
}

const video = ['libx264', 'aac']
const audio = ['aac', 'flac', 'libmp3lame', 'libopus']

test('the packaged FFmpeg has every encoder that is used', async () => {
  await requireFfmpeg([...videoEncoders, ...Object.values(audioEncoders), 'mjpeg'])
})

test.each<[rule: string, encoders: readonly string[] | null, words: RegExp]>([
  [
    'none',
    null,
    /^The package node-av, which contains FFmpeg, is not installed: run `npm install --ignore-scripts node-av`/,
  ],
  ['one that lacks all', [], /node-av lacks libx264 and aac: run/],
  ['one that lacks one', audio, /node-av lacks libx264: run/],
])('what is missing is said: %s', async (name, encoders, words) => {
  const ffmpeg = new Ffmpeg({ atOnce: 1, waiting: 1, timeoutMs: 60_000, program: await having(name, encoders) })
  await expect(ffmpeg.require(videoEncoders)).rejects.toThrow(words)
  expect(await ffmpeg.isInstalled(videoEncoders)).toBe(false)
})

test.each<[name: string, encoders: readonly string[] | null, formats: readonly string[]]>([
  ['bare', [], ['wav', 'pcm']],
  ['film', video, ['aac', 'wav', 'pcm']],
  ['sound', audio, ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']],
  ['nothing', null, ['wav', 'pcm']],
])('sound is sold in the formats that are made: %s', async (name, encoders, formats) => {
  const program = await having(`formats-${name}`, encoders)
  expect(await encodableFormats(new Ffmpeg({ atOnce: 4, waiting: 4, timeoutMs: 60_000, program }))).toEqual(formats)
})
