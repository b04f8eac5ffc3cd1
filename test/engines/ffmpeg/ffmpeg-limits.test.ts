import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { audioTaskMs, audioTasksAtOnce, audioTasksWaiting } from '#engines/audio/recording.ts'
import { Ffmpeg } from '#engines/ffmpeg/ffmpeg.ts'
import { probesAtOnce, probesWaiting } from '#engines/video-media/media-limits.ts'
import { PacketProbe } from '#engines/video-media/video-media.ts'
import { fakeProcess } from '../../media/fake-process.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

/** In place of the media process: one that never answers. */
let program: string
let folder: string
beforeAll(async () => {
  folder = temporaryFolder('test')
  program = await fakeProcess(join(folder, 'endless.mjs'), '')
})

interface Room {
  room: string
  mostAtOnce: number
  open(timeoutMs: number): (signal: AbortSignal) => Promise<unknown>
}

const rooms: Room[] = [
  {
    ...{ room: 'sound', mostAtOnce: audioTasksAtOnce + audioTasksWaiting },
    open: timeoutMs => {
      const ffmpeg = new Ffmpeg({ atOnce: audioTasksAtOnce, waiting: audioTasksWaiting, timeoutMs, program })
      return signal => ffmpeg.turn(run => run('whole', { path: '', format: 'wav' }), signal)
    },
  },
  {
    ...{ room: 'media', mostAtOnce: probesAtOnce + probesWaiting },
    open: timeoutMs => {
      const probe = new PacketProbe({ timeoutMs, program })
      return signal => probe.probe(Buffer.from('x'), 'mp4', signal)
    },
  },
]

describe.each(rooms)('FFmpeg for $room', { timeout: 60_000 }, ({ mostAtOnce, open }) => {
  test('that takes too long is told so, and the file is not called damaged', async () => {
    const run = open(1)
    await expect(run(new AbortController().signal)).rejects.toMatchObject({ kind: 'REQUEST_TIMEOUT', status: 504 })
  })

  test('with a full queue tells the next caller to try again in a moment', async () => {
    const run = open(audioTaskMs)
    const leaving = new AbortController()
    const waiting = Array.from({ length: mostAtOnce }, () => run(leaving.signal).catch(() => 'left'))
    await expect(run(leaving.signal)).rejects.toMatchObject({ kind: 'MODEL_OVERLOADED', status: 429 })
    leaving.abort()
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['left']))
  })
})
