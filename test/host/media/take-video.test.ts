/** Intact videos of every shape are taken, and what an engine gets is as long as what was measured. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { MediaWorkers } from '#host/media/media-workers.ts'
import { nestedBoxes, videoOfSamples } from '../../media/hostile-media.ts'
import { drawn, made, played } from '../../media/made-media.ts'
import { tracksOf } from '../../media/tracks-of.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

let folder: string
beforeAll(() => {
  folder = temporaryFolder('test')
})
afterAll(() => {
  workers.close()
  return rm(folder, { recursive: true })
})

const workers = new MediaWorkers({ atOnce: 1, waiting: 10, timeoutMs: 60_000, memoryMb: 1_024 })
async function taken(bytes: Buffer, format: 'mp4' | 'mov' | 'webm', mostPackets = 10_000) {
  const path = join(folder, 'given')
  await writeFile(path, bytes)
  return workers.turn(run => run('video', { path, format, mostPackets }), new AbortController().signal)
}

const source = 'testsrc=d=3:s=64x48:r=10,format=yuv420p'
const clip = drawn(source)
const tone = played('sine=d=3:r=8000')
const withFrames = drawn(source, { options: { preset: 'medium', bf: '3' } })
/** Frames of 0.1 s, then of 0.4 s. */
const uneven = drawn("testsrc=d=3:s=64x48:r=10,format=yuv420p,select='lt(t,1)+not(mod(n,4))'")
const movflags = (flags: string) => ({ options: { movflags: flags } })

/** Turned by a quarter, as telephones write it: the matrix of the track's header. */
function turned(mp4: Buffer): Buffer {
  const matrix = [0, 1, 0, -1, 0, 0, 0, 0, 0x4000].map(value => value * 0x10000)
  const at = mp4.indexOf('tkhd') + 4 + 40
  const changed = Buffer.from(mp4)
  for (const [place, value] of matrix.entries()) changed.writeInt32BE(value | 0, at + place * 4)
  return changed
}

test.each<[shape: string, format: 'mp4' | 'mov' | 'webm', make: () => Promise<Buffer>, seconds: number]>([
  ['its index last', 'mp4', () => made('mp4', [clip, tone]), 3],
  ['its index first', 'mp4', () => made('mp4', [clip, tone], movflags('+faststart')), 3],
  ['fragments', 'mp4', () => made('mp4', [clip, tone], movflags('+frag_keyframe+empty_moov')), 3],
  ['frames out of order, and a list of edits', 'mp4', () => made('mp4', [withFrames, tone]), 3],
  ['frames of different lengths', 'mp4', () => made('mp4', [uneven]), 3],
  ['two audio tracks', 'mp4', () => made('mp4', [clip, tone, played('sine=d=20:r=8000')]), 3],
  ['plain samples', 'mov', () => made('mov', [clip, played('sine=d=3', { encoder: 'pcm_s16le' })]), 3],
  [
    'VP9 and Vorbis',
    'webm',
    () =>
      made('webm', [
        drawn(source, { encoder: 'libvpx-vp9', options: {} }),
        played('sine=d=3', { encoder: 'libvorbis', rate: 44_100, channels: 2 }),
      ]),
    3,
  ],
  [
    'no known length, being live',
    'webm',
    () => made('webm', [drawn(source, { encoder: 'libvpx', options: {} })], { options: { live: '1' } }),
    3,
  ],
])('a video with %s is taken', { timeout: 60_000 }, async (_shape, format, make, seconds) => {
  const given = await make()
  const video = await taken(given, format)
  const tracks = await tracksOf(video.bytes)
  expect(Math.abs(video.seconds - seconds)).toBeLessThan(0.2)
  expect(Math.max(...tracks.map(track => track.seconds))).toBeCloseTo(video.seconds, 1)
  expect(tracks[0]?.packets).toBe(video.frames)
  // Every frame of the first track is there.
  expect(video.frames).toBe((await tracksOf(given)).find(({ kind }) => kind === 'video')?.packets)
})

test('what an encoder of audio fills up begins no further second', { timeout: 60_000 }, async () => {
  const audio = played('sine=d=3:r=44100', { rate: 44_100 })
  expect((await taken(await made('mp4', [clip, audio]), 'mp4')).seconds).toBeCloseTo(3, 5)
})

test('a video that is turned stays so', { timeout: 60_000 }, async () => {
  const given = turned(await made('mp4', [clip]))
  const rotations = [given, (await taken(given, 'mp4')).bytes].map(async file => (await tracksOf(file))[0]?.rotation)
  expect(await Promise.all(rotations)).toEqual([90, 90])
})

test('audio that is longer than its times say is refused', { timeout: 60_000 }, async () => {
  const given = await made('mp4', [clip, played('sine=d=20:r=8000')])
  // Each packet of the audio is said to last a sixteenth of what it does.
  const at = given.lastIndexOf('stts')
  for (let entry = 0; entry < given.readUInt32BE(at + 8); entry++) {
    const place = at + 12 + entry * 8 + 4
    given.writeUInt32BE(Math.floor(given.readUInt32BE(place) / 16), place)
  }
  await expect(taken(given, 'mp4')).rejects.toThrow(/its audio is 20\.\d s long, but its timestamps end at 3\.\d s/)
})

test('no program on PATH is run', { timeout: 60_000 }, async () => {
  const mark = join(folder, 'mark')
  for (const name of ['ffmpeg', 'ffprobe']) {
    await writeFile(join(folder, name), `#!/bin/sh\necho run >> ${mark}\nexit 1\n`, { mode: 0o700 })
  }
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
  const { PacketProbe } = await import('#engines/video-media/video-media.ts')
  const probe = new PacketProbe()
  const signal = new AbortController().signal
  const wav = await made('wav', [played('sine=d=2', { encoder: 'pcm_s16le' })])
  expect(await probe.probe(await made('mp4', [clip]), 'mp4', signal)).toMatchObject({ frames: 30 })
  expect(await probe.probe(wav, 'wav', signal)).toMatchObject({ seconds: 2 })
  vi.unstubAllEnvs()
  await expect(import('node:fs/promises').then(({ access }) => access(mark))).rejects.toThrow()
})

test.each<[rule: string, make: () => Buffer | Promise<Buffer>, most: number]>([
  ['of a million and a half samples', () => videoOfSamples(1_500_000), 150_000],
  ['whose tables differ in how many there are', () => videoOfSamples(1_500_000, { sizes: 3 }), 150_000],
  ['of one packet more than is taken', () => made('mp4', [clip, tone]), 53],
])('G21: a video %s is refused for it, before its packets are read', { timeout: 60_000 }, async (_rule, make, most) => {
  const given = await make()
  const startedMs = performance.now()
  await expect(taken(given, 'mp4', most)).rejects.toMatchObject({
    problem: 'excessive',
    message: expect.stringMatching(`has [0-9]+ frames and audio packets; at most ${most} are allowed`),
  })
  expect(performance.now() - startedMs).toBeLessThan(5_000)
})

test('G21: boxes within each other are the fault of the file', { timeout: 60_000 }, async () => {
  await expect(taken(nestedBoxes('moov', 4_000), 'mp4')).rejects.toMatchObject({ problem: 'unreadable' })
  await expect(taken(nestedBoxes('udta', 200_000), 'mp4')).rejects.toMatchObject({ problem: 'unreadable' })
})
