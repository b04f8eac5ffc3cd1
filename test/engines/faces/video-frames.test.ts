import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { framingsAtOnce, framingsWaiting, VideoFrames } from '#engines/faces/human-faces.ts'
import { fakeProcess } from '../../media/fake-process.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

let folder: string
beforeAll(() => {
  folder = temporaryFolder('test')
  vi.stubEnv('TMPDIR', folder)
})
afterAll(() => {
  vi.unstubAllEnvs()
})

const video = { kind: 'video', bytes: Buffer.from('x'), format: 'mp4' } as const
const probe = { probe: async () => ({ ...video, seconds: 1, frames: 2 }) }
const never = async () => false

test('a video lies on the disk once it has its turn, and one that is refused never does', async () => {
  const frames = new VideoFrames({ probe, program: await fakeProcess(join(folder, 'endless.mjs'), '') })
  const leaving = new AbortController()
  const all = Array.from({ length: framingsAtOnce + framingsWaiting }, () => frames.some(video, never, leaving.signal))
  const ended = Promise.allSettled(all)
  await expect(frames.some(video, never, leaving.signal)).rejects.toMatchObject({ status: 429 })
  expect((await readdir(folder)).filter(name => name.startsWith('farebox-frames')).length).toBeLessThanOrEqual(2)
  leaving.abort(new Error('gone'))
  expect((await ended).every(each => each.status === 'rejected' && each.reason.message === 'gone')).toBe(true)
})

test('no frame is looked at for who has left', { timeout: 60_000 }, async () => {
  const body = "for (const n of [1, 2]) writeFileSync(task.to.path.replace('%03d', '00' + n), ''); answer({})"
  const frames = new VideoFrames({ probe, program: await fakeProcess(join(folder, 'two-frames.mjs'), body) })
  const left = new AbortController()
  let looks = 0
  const look = async () => {
    looks++
    left.abort(new Error('gone'))
    return false
  }
  await expect(frames.some(video, look, left.signal)).rejects.toThrow('gone')
  expect(looks).toBe(1)
})
