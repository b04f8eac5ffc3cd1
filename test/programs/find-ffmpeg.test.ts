import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { soundEncoders, videoEncoders } from '#programs/encoders.ts'
import { findFfmpeg } from '#programs/find-ffmpeg.ts'
import { Ffmpeg } from '#service/ffmpeg/ffmpeg.ts'
import { soundFormats } from '#service/sound/encode-sound.ts'

let folder: string
const at = (name: string) => async () => join(folder, name)
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-test-'))
  await program('bare', [])
  await program('film', ['libx264', 'aac'])
  await program('sound', ['aac', 'flac', 'libmp3lame', 'libopus'])
})
afterAll(() => rm(folder, { recursive: true }))

/** In place of ffmpeg: a program that lists encoders as it does, with what it says before them. */
async function program(name: string, encoders: readonly string[]): Promise<void> {
  const lines = ['Encoders:', ' V..... = Video', ' ------', ...encoders.map(each => ` A....D ${each}   Of a kind`)]
  await writeFile(join(folder, name), `#!/bin/sh\ncat <<'END'\n${lines.join('\n')}\nEND\n`, { mode: 0o700 })
}

const mp3 = [soundEncoders.mp3]

describe('ffmpeg is found for what it is needed for', { timeout: 60_000 }, () => {
  test.each<[rule: string, needed: readonly string[], names: string[], found: string]>([
    ['measuring and decoding take one without encoders', [], ['bare', 'film'], 'bare'],
    ['films take one with H.264 and AAC', videoEncoders, ['bare', 'sound', 'film'], 'film'],
    ['MP3 takes one with its encoder', mp3, ['film', 'sound'], 'sound'],
    ['one that does not run is passed over', [], ['nothing', 'bare'], 'bare'],
  ])('%s', async (_rule, needed, names, found) => {
    expect(await findFfmpeg(needed, names.map(at))).toBe(join(folder, found))
  })

  test.each<[rule: string, needed: readonly string[], names: string[], words: RegExp]>([
    ['none', videoEncoders, ['nothing'], /^No ffmpeg was found: install ffmpeg so that/],
    [
      'one that lacks all',
      videoEncoders,
      ['bare'],
      /lacks libx264 and aac: install ffmpeg with libx264 and aac so that/,
    ],
    ['one that lacks one', videoEncoders, ['sound'], /lacks libx264: install ffmpeg with libx264 so that/],
  ])('and its lack is said: %s', async (_rule, needed, names, words) => {
    await expect(findFfmpeg(needed, names.map(at))).rejects.toThrow(words)
  })

  test.each([
    ['bare', ['wav', 'pcm']],
    ['film', ['aac', 'wav', 'pcm']],
    ['sound', ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']],
    ['nothing', ['wav', 'pcm']],
  ])('sound is sold in the formats that are made: %s', async (name, formats) => {
    const find = (needed: readonly string[]) => findFfmpeg(needed, [at(name)])
    expect(await soundFormats(new Ffmpeg({ atOnce: 1, waiting: 1, timeoutMs: 1, find }))).toEqual(formats)
  })
})
