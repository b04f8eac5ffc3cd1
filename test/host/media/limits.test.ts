/** The limits of the processes that read callers' files: time, memory, pixels, slots and environment. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { MediaWorkers, type MediaWorkersOptions } from '#host/media/media-workers.ts'
import type { Conversion } from '#host/media/tasks.ts'
import { fakeProcess } from '../../media/fake-process.ts'
import { drawn, made, played } from '../../media/made-media.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

let folder: string
beforeAll(() => {
  folder = temporaryFolder('test')
})

const signal = new AbortController().signal
const usual = { atOnce: 1, waiting: 2, timeoutMs: 60_000, memoryMb: 1_024 }
const workersOf = (change: Partial<MediaWorkersOptions> = {}) => new MediaWorkers({ ...usual, ...change })
const ask = (workers: MediaWorkers, name = 'x', over = signal): Promise<unknown> =>
  workers.turn(run => run('whole', { path: name, format: 'wav' }), over)

/** Answers with its own id; hangs where the path says so. */
const program = () =>
  fakeProcess(join(folder, 'pid.mjs'), "if (task.path !== 'hang') answer([process.pid, Object.keys(process.env)])")

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a process is kept for the next task', async () => {
  const workers = workersOf({ program: await program() })
  const [first, second] = [await ask(workers), await ask(workers)]
  expect(second).toEqual(first)
  workers.close()
})

test('a task that takes too long ends with its process, and the next gets another', async () => {
  const workers = workersOf({ program: await program(), timeoutMs: 3_000 })
  const [pid] = (await ask(workers)) as [number]
  await expect(ask(workers, 'hang')).rejects.toMatchObject({ name: 'MediaFailed', problem: 'late' })
  await expect.poll(() => isAlive(pid)).toBe(false)
  expect(await ask(workers)).not.toEqual([pid, expect.anything()])
  workers.close()
})

test('a caller who leaves ends the process at once', async () => {
  const workers = workersOf({ program: await program() })
  const [pid] = (await ask(workers)) as [number]
  const leaving = new AbortController()
  const asked = ask(workers, 'hang', leaving.signal)
  leaving.abort(new Error('gone'))
  await expect(asked).rejects.toThrow('gone')
  await expect.poll(() => isAlive(pid)).toBe(false)
})

test('it knows no setting of ours', async () => {
  process.env.FAREBOX_TEST_KEY = 'canary'
  process.env.DATABASE_URL = 'canary'
  try {
    const workers = workersOf({ program: await program() })
    const [, names] = (await ask(workers)) as [number, string[]]
    expect(names.filter(name => /FAREBOX|DATABASE|KEY|NODE_OPTIONS/.test(name))).toEqual([])
    workers.close()
  } finally {
    delete process.env.FAREBOX_TEST_KEY
    delete process.env.DATABASE_URL
  }
})

const converting = (bytes: Buffer, change: Partial<Conversion>, workers: MediaWorkers) => {
  const path = join(folder, 'source')
  return writeFile(path, bytes).then(() =>
    workers.turn(
      run =>
        run('convert', {
          inputs: [{ path, reader: 'png_pipe' }],
          tracks: [drawn('[in0]null', { reads: [0], encoder: 'rawvideo', options: {} })],
          to: { path: join(folder, 'converted'), format: 'rawvideo', mostBytes: 2 ** 40 },
          maxPixels: 2 ** 31 - 1,
          ...change,
        }),
      signal,
    ),
  )
}

const huge = (side: number) =>
  made('image2pipe', [
    drawn(`color=c=black:s=${side}x${side},trim=end_frame=1,format=rgb24`, { encoder: 'png', options: {} }),
  ])

test('a frame of more pixels than are allowed is not decoded', { timeout: 60_000 }, async () => {
  const image = await huge(2_000)
  const workers = workersOf()
  // Decoders count the edges that they fill up, too.
  expect(await converting(image, { maxPixels: 2_100 * 2_100 }, workers)).toMatchObject({ frames: 1 })
  const refused = converting(image, { maxPixels: 2_000 * 2_000 - 1 }, workers)
  await expect(refused).rejects.toMatchObject({ name: 'MediaFailed', problem: 'unreadable' })
  workers.close()
})

test('a file that takes too much memory ends its process, and the next task gets another', {
  timeout: 60_000,
}, async () => {
  const workers = workersOf({ memoryMb: 300 })
  const small = await huge(200)
  expect(await converting(small, {}, workers)).toMatchObject({ frames: 1 })
  // 12,000 by 12,000 in three colours are 432 MB, out of a file of less than one.
  const bomb = await huge(12_000)
  expect(bomb.length).toBeLessThan(2_000_000)
  await expect(converting(bomb, {}, workers)).rejects.toMatchObject({ name: 'MediaFailed', problem: 'died' })
  expect(await converting(small, {}, workers)).toMatchObject({ frames: 1 })
  workers.close()
})

test('a damaged file is answered, whatever is damaged in it', { timeout: 120_000 }, async () => {
  const workers = workersOf({ timeoutMs: 10_000 })
  const vp8 = drawn('testsrc=d=1:s=64x48:r=10,format=yuv420p', { encoder: 'libvpx', options: {} })
  const files = [
    ['mp4', await made('mp4', [drawn('testsrc=d=1:s=64x48:r=10,format=yuv420p'), played('sine=d=1')])],
    ['webm', await made('webm', [vp8, played('sine=d=1', { encoder: 'libopus', rate: 48_000 })])],
  ] as const
  let random = 7
  const next = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31
    return random % below
  }
  const ends = new Set<string>()
  for (let round = 0; round < 60; round++) {
    for (const [format, file] of files) {
      const damaged = Buffer.from(file)
      for (let change = 0; change <= round % 6; change++) damaged[next(damaged.length)] = next(256)
      const path = join(folder, 'damaged')
      await writeFile(path, damaged)
      const end = await workers
        .turn(run => run('video', { path, format, mostPackets: 10_000 }), signal)
        .then(
          () => 'taken',
          error => error.problem,
        )
      ends.add(end)
    }
  }
  expect([...ends].filter(end => !['taken', 'unreadable'].includes(end))).toEqual([])
  workers.close()
})
