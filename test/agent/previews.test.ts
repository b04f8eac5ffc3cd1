import { existsSync } from 'node:fs'
import { mkdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { previewedPixels } from '#agent/bounds.ts'
import { Files } from '#agent/media/files.ts'
import { Previews } from '#agent/media/previews.ts'
import { imageSize, typeOfBytes } from '#contract/wire/image-header.ts'
import { encodePng } from '#engines/images/png.ts'
import type { Shown } from '#toolkit/tool-context.ts'
import { clip } from '../engines/video-media/example-clips.ts'
import { fakeProcess } from '../media/fake-process.ts'
import { drawn, made } from '../media/made-media.ts'
import { temporaryFolder } from './open-agent.ts'

const signal = new AbortController().signal
const [previewPixels, previewBytes] = [512, 100_000]
const within = { imagePixels: previewPixels, imageBytes: previewBytes }

let folder: string
let files: Files
/** In place of the media process: one without FFmpeg, and one that leaves a file when it is asked. */
let missing: string
let asked: string
beforeAll(async () => {
  folder = await realpath(temporaryFolder())
  files = new Files({ output: folder, inputs: [], state: join(folder, 'state') })
  missing = await fakeProcess(join(folder, 'missing.mjs'), "process.send({ problem: 'missing', words: '' })")
  asked = await fakeProcess(join(folder, 'asked.mjs'), "writeFileSync(import.meta.filename + '.asked', '')")
})

let count = 0
async function saved(bytes: Buffer, mimeType = 'image/png') {
  const path = join(folder, `${++count}.${mimeType.split('/')[1]}`)
  await writeFile(path, bytes)
  return { path, mimeType, bytes: bytes.length }
}

const preview = async (bytes: Buffer, mimeType?: string, program?: string) =>
  new Previews(files, program).of(await saved(bytes, mimeType), within, signal)

/** An image whose pixels `at` gives by their place. */
function image(width: number, height: number, at: (pixel: number) => number[] = pixel => [pixel, pixel >> 8, 0, 255]) {
  const rgba = Buffer.alloc(width * height * 4)
  for (let pixel = 0; pixel < width * height; pixel++) rgba.set(at(pixel), pixel * 4)
  return encodePng({ width, height, rgba })
}

function bytesOf(shown: Shown): Buffer {
  if (shown.type !== 'image') throw new Error(`It is no image: ${JSON.stringify(shown)}`)
  return Buffer.from(shown.data, 'base64')
}

function sizeOf(shown: Shown) {
  const bytes = bytesOf(shown)
  expect(bytes.length).toBeLessThanOrEqual(previewBytes)
  const type = typeOfBytes(bytes)
  return type && imageSize(type, bytes)
}

test('what is small is shown as it is, with nothing installed', async () => {
  const small = await image(512, 40)
  expect(await preview(small, 'image/png', missing)).toEqual({
    type: 'image',
    mimeType: 'image/png',
    data: small.toString('base64'),
  })
})

test('what is larger is made smaller, and keeps its shape', async () => {
  const shown = await preview(await image(1_500, 500))
  expect(shown).toMatchObject({ mimeType: 'image/jpeg' })
  expect(sizeOf(shown)).toEqual({ width: previewPixels, height: 171 })
}, 60_000)

test('what would take too many bytes is made coarser', async () => {
  let state = 1
  const noise = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return (state >> 8) & 255
  }
  const shown = await preview(await image(1_024, 1_024, () => [noise(), noise(), noise(), 255]))
  expect(Math.max(...Object.values(sizeOf(shown) ?? {}))).toBeLessThanOrEqual(previewPixels)
}, 60_000)

test('what is transparent shows as white, not in the colour that it hides', async () => {
  const shown = await preview(await image(600, 600, () => [255, 0, 0, 0]))
  const graph = '[in0]scale=1:1,format=rgb24'
  const inputs = [{ bytes: bytesOf(shown), reader: 'jpeg_pipe' }]
  const rgb = await made('rawvideo', [drawn(graph, { reads: [0], encoder: 'rawvideo', options: {} })], { inputs })
  expect(rgb).toHaveLength(3)
  expect(Math.min(...rgb)).toBeGreaterThan(245)
}, 60_000)

test('a video is shown by its first frame', async () => {
  expect(sizeOf(await preview(await clip('mp4', 1), 'video/mp4'))).toEqual({ width: 64, height: 48 })
}, 60_000)

test('without FFmpeg, a sentence says what to install', async () => {
  expect(await preview(await image(600, 10), 'image/png', missing)).toEqual({
    type: 'text',
    text: 'The file is saved, but there is no preview: the package node-av, which contains FFmpeg, is not installed. Run `npm install --ignore-scripts node-av`.',
  })
})

afterEach(() => expect(existsSync(`${asked}.asked`)).toBe(false))

test('an image that claims to be huge is not decoded', async () => {
  const huge = await image(1, 1)
  huge.writeUInt32BE(50_000, 16)
  huge.writeUInt32BE(50_000, 20)
  expect(await preview(huge, 'image/png', asked)).toMatchObject({ text: expect.stringContaining('is too large') })
})

/** A chunk of PNG; its check is left out of account by what reads leniently. */
const chunk = (name: string, data: Buffer): Buffer => {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(data.length)
  head.write(name, 4, 'latin1')
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(Buffer.concat([head.subarray(4), data])))
  return Buffer.concat([head, data, check])
}

test('an image that tells a small size before its own is not taken at its word', async () => {
  const small = await image(10, 10)
  const told = Buffer.from(small.subarray(16, 29))
  const lying = Buffer.concat([small.subarray(0, 8), chunk('aaAa', told), small.subarray(8)])
  expect(await preview(lying, 'image/png', asked)).toMatchObject({ text: expect.stringContaining('in time.') })
})

test('a video whose frames are huge is not decoded', async () => {
  const side = Math.ceil(Math.sqrt(previewedPixels)) + 1
  const graph = `color=c=black:s=${side}x${side}:r=1,trim=end_frame=1,format=monob`
  const video = await made('mov', [drawn(graph, { encoder: 'png', options: {} })])
  expect(video.length).toBeGreaterThan(0)
  expect(await preview(video, 'video/quicktime')).toMatchObject({ text: expect.stringContaining('in time.') })
}, 60_000)

test.each([
  ['is no image', Buffer.from('not an image'), 'image/png'],
  ['is cut within its header', Buffer.from('89504e470d0a1a0a0000', 'hex'), 'image/png'],
  ['is a playlist that says it is a video', Buffer.from('#EXTM3U\nfile:///etc/passwd\n'), 'video/mp4'],
])('a file that %s has no preview, which is not a failure', async (_rule, bytes, mimeType) => {
  expect(await preview(bytes, mimeType)).toMatchObject({ type: 'text', text: expect.stringContaining('in time.') })
})

test.each([
  ['is deleted', (path: string) => rm(path)],
  [
    'is a link by now',
    async (path: string) => {
      await mkdir(`${folder}-aside`, { recursive: true })
      await rename(path, `${folder}-aside/a`)
      await symlink(`${folder}-aside/a`, path)
    },
  ],
])(
  'a file that %s is not read for one',
  async (_rule, change) => {
    for (const [bytes, mimeType] of [
      [await image(10, 10), 'image/png'],
      [await clip('mp4', 1), 'video/mp4'],
    ] as const) {
      const file = await saved(bytes, mimeType)
      await change(file.path)
      expect(await new Previews(files, asked).of(file, within, signal)).toMatchObject({ type: 'text' })
    }
  },
  60_000,
)

test('a caller who has left is not waited for', async () => {
  const gone = AbortSignal.abort()
  expect(await new Previews(files).of(await saved(await image(600, 10)), within, gone)).toMatchObject({
    type: 'text',
  })
})
