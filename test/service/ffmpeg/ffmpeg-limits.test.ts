import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Ffmpeg } from '#service/ffmpeg/ffmpeg.ts'
import { succeeded } from '#service/ffmpeg/succeeded.ts'
import { soundMs, soundsAtOnce, soundsWaiting } from '#service/sound/bounds.ts'
import { probesAtOnce, probesWaiting } from '#service/video-media/bounds.ts'
import { FfmpegProbe } from '#service/video-media/media-probe.ts'

/** In place of ffmpeg: a program that never ends by itself. */
let program: string
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-test-'))
  program = join(folder, 'endless')
  await writeFile(program, '#!/bin/sh\nexec sleep 600\n', { mode: 0o700 })
})
afterAll(() => rm(folder, { recursive: true }))

interface Room {
  room: string
  mostAtOnce: number
  run(signal: AbortSignal, timeoutMs?: number): Promise<unknown>
}

const find = async () => program
const probes = new FfmpegProbe({ find })
const ffmpegFor = (timeoutMs: number) => new Ffmpeg({ atOnce: soundsAtOnce, waiting: soundsWaiting, timeoutMs, find })
const sounds = ffmpegFor(soundMs)
const rooms: Room[] = [
  {
    ...{ room: 'sound', mostAtOnce: soundsAtOnce + soundsWaiting },
    run: async (signal, timeoutMs) =>
      succeeded(await (timeoutMs ? ffmpegFor(timeoutMs) : sounds).turn(run => run({ args: [], signal }), signal)),
  },
  {
    ...{ room: 'media', mostAtOnce: probesAtOnce + probesWaiting },
    run: (signal, timeoutMs) =>
      (timeoutMs ? new FfmpegProbe({ find, timeoutMs }) : probes).probe(Buffer.from('x'), 'mp4', signal),
  },
]

describe.each(rooms)('ffmpeg for $room', { timeout: 60_000 }, ({ mostAtOnce, run }) => {
  test('that takes too long is told so, and the file is not called damaged', async () => {
    await expect(run(new AbortController().signal, 1)).rejects.toMatchObject({ kind: 'REQUEST_TIMEOUT', status: 504 })
  })

  test('with a full line tells whoever comes next to come again', async () => {
    const leaving = new AbortController()
    const waiting = Array.from({ length: mostAtOnce }, () => run(leaving.signal).catch(() => 'left'))
    // All of them stand in line once the programs of the first were found.
    await new Promise(resolve => setImmediate(resolve))
    await expect(run(leaving.signal)).rejects.toMatchObject({ kind: 'MODEL_OVERLOADED', status: 429 })
    leaving.abort()
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['left']))
  })
})
