import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { findFfmpeg } from '#programs/find-ffmpeg.ts'
import { HumanFaces } from '#service/faces/human-faces.ts'
import { withPackages } from '../engines/with-packages.ts'
import { png } from '../models/example-pictures.ts'
import { clip } from '../video-media/example-clips.ts'

const packages = ['@vladmandic/human', '@tensorflow/tfjs-converter', '@tensorflow/tfjs-backend-wasm', 'sharp']

/** Pictures of people that the package shows itself with. */
const picture = (name: string) =>
  readFile(join(dirname(createRequire(import.meta.url).resolve('@vladmandic/human')), '..', 'assets', name))

/** A film that shows nobody for a second, and then the picture for one. */
async function filmOf(name: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-film-'))
  try {
    const still = join(dirname(createRequire(import.meta.url).resolve('@vladmandic/human')), '..', 'assets', name)
    const path = join(folder, 'film.mp4')
    const ffmpeg = await findFfmpeg()
    const same = 'scale=640:640,setsar=1,fps=10,format=yuv420p'
    const filter = `[0:v]${same}[none];[1:v]${same}[some];[none][some]concat=n=2`
    const inputs = ['-f', 'lavfi', '-i', 'testsrc=d=1:s=640x640', '-loop', '1', '-t', '1', '-i', still]
    await promisify(execFile)(ffmpeg, ['-v', 'error', ...inputs, '-filter_complex', filter, path])
    return await readFile(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe.skipIf(!withPackages(...packages))('faces', { timeout: 60_000 }, () => {
  const problems: unknown[] = []
  const faces = new HumanFaces({ onProblem: problem => void problems.push(problem) })
  afterAll(() => faces.close())
  const image = (bytes: Buffer) => faces.hasFace({ kind: 'image', bytes, format: null })

  test('are found in pictures', async () => {
    expect(await image(await picture('samples.jpg'))).toBe(true)
    expect(await image(await picture('screenshot-facedetect.jpg'))).toBe(true)
    expect(problems).toEqual([])
  })

  test('are not found where there are none', async () => {
    expect(await image(png(64, 64))).toBe(false)
    expect(await faces.hasFace({ kind: 'video', bytes: await clip('mp4', 2), format: 'mp4' })).toBe(false)
    expect(problems).toEqual([])
  })

  test('are found in the last second of a video', async () => {
    const bytes = await filmOf('screenshot-facedetect.jpg')
    expect(await faces.hasFace({ kind: 'video', bytes, format: 'mp4' })).toBe(true)
    expect(problems).toEqual([])
  })

  test('what cannot be looked at counts as a face, and is told', async () => {
    expect(await image(Buffer.from('no picture'))).toBe(true)
    expect(await faces.hasFace({ kind: 'video', bytes: Buffer.from('no video'), format: 'mp4' })).toBe(true)
    expect(problems).toHaveLength(2)
  })
})

test('whoever leaves ends the look, and a video that nobody looked at is not said to show a face', async () => {
  const problems: unknown[] = []
  const faces = new HumanFaces({ onProblem: problem => void problems.push(problem) })
  const left = AbortSignal.abort()
  const video = { kind: 'video', bytes: Buffer.from('no video'), format: 'mp4' } as const
  await expect(faces.hasFace(video, left)).rejects.toBe(left.reason)
  expect(problems).toEqual([])
  await faces.close()
})
