import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { HumanFaces } from '#engines/faces/human-faces.ts'
import { drawn, made } from '../../media/made-media.ts'
import { png } from '../../service/models/example-images.ts'

/** Images of people that the package shows itself with. */
const imageFile = (name: string) =>
  readFile(join(dirname(createRequire(import.meta.url).resolve('@vladmandic/human')), '..', 'assets', name))

/** A video that shows no face for a second, and then the image for a second. */
async function videoOf(name: string): Promise<Buffer> {
  const same = 'scale=640:640,setsar=1,fps=10,format=yuv420p'
  const graph = `testsrc=d=1:s=640x640,${same}[none];[in0]loop=loop=-1:size=1,trim=end_frame=25,${same}[some];[none][some]concat=n=2`
  const inputs = [{ bytes: await imageFile(name), reader: 'jpeg_pipe' }]
  return made('mp4', [drawn(graph, { reads: [0] })], { inputs })
}

const videoOfNobody = () => made('mp4', [drawn('color=c=gray:d=2:s=320x240:r=5,format=yuv420p')])

describe('faces', { timeout: 60_000, tags: ['engines'] }, () => {
  const problems: unknown[] = []
  const faces = new HumanFaces({ onProblem: problem => void problems.push(problem) })
  afterAll(() => faces.close())
  const image = (bytes: Buffer) => faces.hasFace({ kind: 'image', bytes, format: null })

  test('are found in images', async () => {
    expect(await image(await imageFile('samples.jpg'))).toBe(true)
    expect(await image(await imageFile('screenshot-facedetect.jpg'))).toBe(true)
    expect(problems).toEqual([])
  })

  test('are not found where there are none', async () => {
    expect(await image(png(64, 64))).toBe(false)
    expect(await faces.hasFace({ kind: 'video', bytes: await videoOfNobody(), format: 'mp4' })).toBe(false)
    expect(problems).toEqual([])
  })

  test('are found in the last second of a video', async () => {
    const bytes = await videoOf('screenshot-facedetect.jpg')
    expect(await faces.hasFace({ kind: 'video', bytes, format: 'mp4' })).toBe(true)
    expect(problems).toEqual([])
  })

  test('what cannot be looked at counts as a face, and is told', async () => {
    expect(await image(Buffer.from('no image'))).toBe(true)
    expect(await faces.hasFace({ kind: 'video', bytes: Buffer.from('no video'), format: 'mp4' })).toBe(true)
    expect(problems).toHaveLength(2)
  })
})

test('a caller who leaves ends the detection, and an unchecked video is not reported to show a face', async () => {
  const problems: unknown[] = []
  const faces = new HumanFaces({ onProblem: problem => void problems.push(problem) })
  const left = AbortSignal.abort()
  const video = { kind: 'video', bytes: Buffer.from('no video'), format: 'mp4' } as const
  await expect(faces.hasFace(video, left)).rejects.toBe(left.reason)
  expect(problems).toEqual([])
  await faces.close()
})
