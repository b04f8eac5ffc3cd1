import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { wavOf } from '#engines/audio/recording.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import { encodePng } from '#engines/images/png.ts'
import type { VideoCall } from '#engines/ports/media-engines.ts'
import { drawn, made, samplesOf } from '../../media/made-media.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

/** Every medium of a request is seen or heard in what the demonstration makes of it. */
const [width, height] = [640, 360]
type Colour = readonly [red: number, green: number, blue: number]
const colours = {
  blue: [0, 0, 250],
  green: [0, 250, 0],
  yellow: [250, 250, 0],
  cyan: [0, 250, 250],
  magenta: [250, 0, 250],
  white: [250, 250, 250],
  black: [5, 5, 5],
} as const

const still = async (colour: Colour) => {
  const rgb = Buffer.from(Array.from({ length: 32 * 32 }, () => colour).flat())
  return `data:image/png;base64,${(await encodePng({ width: 32, height: 32, rgb })).toString('base64')}`
}
const moving = async (name: string, seconds: number) => {
  const bytes = await made('mp4', [drawn(`color=c=${name}:s=64x64:r=12,trim=end=${seconds}`)])
  return `data:video/mp4;base64,${bytes.toString('base64')}`
}
const tone = (hertz: number, seconds: number) => {
  const samples = Int16Array.from(
    { length: 8_000 * seconds },
    (_, at) => 12_000 * Math.sin((2 * Math.PI * hertz * at) / 8_000),
  )
  return `data:audio/wav;base64,${wavOf({ samples, rate: 8_000 }).toString('base64')}`
}

let folder: string
let engine: DemoVideo
beforeAll(() => {
  folder = temporaryFolder('demo-studio')
  engine = new DemoVideo({ workFolder: folder })
})
afterAll(() => engine.close())

let jobs = 0
async function videoOf(change: object): Promise<Buffer> {
  const asked = { model: 'm', prompt: 'a red boat', duration: '2s', resolution: '360p', audio: false, ...change }
  const call: VideoCall = {
    request: VideoQueueRequest.parse(asked),
    engineModel: 'm',
    jobId: `job-${++jobs}`,
    signal: new AbortController().signal,
  }
  await expect.poll(() => engine.start(call), { timeout: 90_000, interval: 50 }).toMatchObject({ state: 'completed' })
  return readFile(join(folder, `${call.jobId}.mp4`))
}

/** The colour at a place, half a second after the beginning or before the end. */
async function colourAt(video: Buffer, [x, y]: readonly [number, number], moment: 'early' | 'late'): Promise<number[]> {
  const frames = await made(
    'rawvideo',
    [drawn('[in0]fps=2,format=rgb24', { reads: [0], encoder: 'rawvideo', options: {} })],
    {
      inputs: [{ bytes: video, reader: 'mov' }],
    },
  )
  const count = frames.length / (width * height * 3)
  const from = ((moment === 'early' ? 1 : count - 1) * width * height + y * width + x) * 3
  return [...frames.subarray(from, from + 3)]
}

const near = ([red, green, blue]: Colour) =>
  [red, green, blue].map(value => expect.toSatisfy((found: number) => Math.abs(found - value) < 60))

/** The middle of a tile: eight in a row, each 80 wide and 60 high. */
const tile = (index: number): readonly [number, number] => [(index % 8) * 80 + 40, Math.floor(index / 8) * 60 + 30]

test('§2.6 references, elements and scenes are tiles in the order of the contract, and videos of them too', async () => {
  const video = await videoOf({
    reference_image_urls: [await still(colours.blue), await still(colours.green)],
    reference_video_urls: [await moving('magenta', 2)],
    scene_image_urls: [await still(colours.cyan)],
    elements: [
      {
        frontal_image_url: await still(colours.yellow),
        reference_image_urls: [await still(colours.white), await still(colours.black)],
        video_url: await moving('blue', 1),
      },
    ],
  })
  const order = ['blue', 'green', 'magenta', 'cyan', 'yellow', 'white', 'black', 'blue'] as const
  for (const [index, name] of order.entries()) {
    for (const moment of ['early', 'late'] as const) {
      expect([name, ...(await colourAt(video, tile(index), moment))]).toEqual([name, ...near(colours[name])])
    }
  }
}, 120_000)

test('§2.6 an end frame is what is seen at the end, and only there', async () => {
  const video = await videoOf({ image_url: await still(colours.blue), end_image_url: await still(colours.green) })
  // A corner that no square reaches.
  const corner = [2, 2] as const
  expect(await colourAt(video, corner, 'late')).toEqual(near(colours.green))
  expect(await colourAt(video, corner, 'early')).not.toEqual(near(colours.green))
}, 120_000)

test('§2.6 a given video lies behind everything', async () => {
  const video = await videoOf({ video_url: await moving('cyan', 2) })
  expect(await colourAt(video, [2, 2], 'late')).toEqual(near(colours.cyan))
}, 120_000)

test('§2.6 what is not to be seen stands in the words', async () => {
  const [plain, without] = [await videoOf({}), await videoOf({ negative_prompt: 'people' })]
  expect(without.equals(plain)).toBe(false)
}, 120_000)

/** How much of a frequency is in the sound (Goertzel), per sample. */
function strengthOf(samples: Int16Array, hertz: number, rate: number): number {
  const factor = 2 * Math.cos((2 * Math.PI * hertz) / rate)
  let [before, last] = [0, 0]
  for (const sample of samples) [before, last] = [last, sample + factor * last - before]
  return Math.sqrt(before * before + last * last - factor * before * last) / samples.length
}

test('§2.6 given sound is heard in the place of the drawn one, all of it at once', async () => {
  const rate = 8_000
  const heard = async (change: object) => {
    const pcm = await samplesOf(await videoOf({ audio: true, ...change }), 'mov', rate)
    const samples = new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.length))
    return [700, 1_300].map(hertz => strengthOf(samples, hertz, rate) > 500)
  }
  expect(await heard({})).toEqual([false, false])
  expect(await heard({ audio_url: tone(700, 2) })).toEqual([true, false])
  const reference_image_urls = [await still(colours.blue)]
  expect(
    await heard({ audio_url: tone(700, 1), reference_image_urls, reference_audio_urls: [tone(1_300, 2)] }),
  ).toEqual([true, true])
}, 120_000)
