import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { DemoVideo, type DemoVideoOptions } from '#engines/demo/video.ts'
import type { JobProgress, VideoCall } from '#engines/ports/media-engines.ts'
import { fakeProcess } from '../../media/fake-process.ts'
import { drawn, made as madeMedia } from '../../media/made-media.ts'
import { dataUrl, png } from '../../service/models/example-images.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { readMp4 } from './mp4.ts'

let folder = ''
let engines: DemoVideo[] = []
beforeEach(() => {
  folder = temporaryFolder('demo-video')
})
afterEach(async () => {
  await Promise.all(engines.map(engine => engine.close()))
  engines = []
})

function engine(options: Partial<DemoVideoOptions> = {}): DemoVideo {
  const made = new DemoVideo({ workFolder: join(folder, 'work'), ...options })
  engines.push(made)
  return made
}

const call = (jobId: string, change: object = {}): VideoCall => ({
  request: VideoQueueRequest.parse({
    model: 'demo-video',
    prompt: 'a red boat',
    duration: '2s',
    resolution: '360p',
    ...change,
  }),
  engineModel: 'demo-video',
  jobId,
  signal: new AbortController().signal,
})

async function outcome(of: DemoVideo, asked: VideoCall): Promise<JobProgress> {
  let progress = await of.start(asked)
  while (progress.state === 'running') {
    await new Promise(resolve => setTimeout(resolve, 10))
    progress = await of.poll(asked, progress.engineState)
  }
  return progress
}

async function made(of: DemoVideo, asked: VideoCall): Promise<Buffer> {
  const progress = await outcome(of, asked)
  if (progress.state !== 'completed') throw new Error(JSON.stringify(progress))
  expect(progress.mimeType).toBe('video/mp4')
  return readFile(progress.path)
}

/** A program in the encoder's place; it gets the output's path as `out`. */
const scripted = (...lines: string[]): Promise<string> =>
  fakeProcess(join(folder, 'encoder.mjs'), ['const out = task.to?.path', ...lines].join('\n'))

const writes = "writeFileSync(out, 'video'); answer({})"
const fails = "process.send({ problem: 'unreadable', words: 'secret-path' })"

test.each([
  ['as asked', {}, { seconds: 2, width: 640, height: 360, hasAudio: true }],
  ['upright', { aspect_ratio: '9:16' }, { seconds: 2, width: 360, height: 640, hasAudio: true }],
  [
    'square, three seconds, silent',
    { aspect_ratio: '1:1', duration: '3s', audio: false },
    { seconds: 3, width: 360, height: 360, hasAudio: false },
  ],
  [
    'what is left open: 5 s, 480p, 16:9',
    { duration: 'Auto', resolution: undefined },
    { seconds: 5, width: 854, height: 480, hasAudio: true },
  ],
  ['wide', { aspect_ratio: '21:9' }, { seconds: 2, width: 840, height: 360, hasAudio: true }],
])('a video is %s', { timeout: 60_000 }, async (_rule, change, expected) => {
  const { seconds, boxes, codec, ...rest } = readMp4(await made(engine(), call('job-1', change)))
  expect(Math.abs(seconds - expected.seconds)).toBeLessThan(0.1)
  expect({ seconds: expected.seconds, ...rest }).toEqual(expected)
  expect(codec).toBe('avc1')
  expect(boxes.indexOf('moov')).toBeLessThan(boxes.indexOf('mdat'))
})

test('the same words make the same video, others another', { timeout: 60_000 }, async () => {
  const one = engine()
  const first = await made(one, call('job-1'))
  expect((await made(one, call('job-2'))).equals(first)).toBe(true)
  expect((await made(one, call('job-3', { prompt: 'a blue boat' }))).equals(first)).toBe(false)
})

test('an image changes what is seen', { timeout: 60_000 }, async () => {
  const one = engine()
  const plain = await made(one, call('job-1'))
  const withImage = await made(one, call('job-2', { image_url: dataUrl('png', png(64, 48)) }))
  expect(readMp4(withImage)).toMatchObject({ width: 640, height: 360 })
  expect(withImage.equals(plain)).toBe(false)
})

test.each([
  ['quotes and commas', `a'b",c;d[e]:f=g\\h%{pts}`],
  ['options', '-i /etc/passwd -y'],
  ['letters that no font here has', '水の上の船 🚤 лодка'],
  ['line breaks and bells', 'one\ntwo\u0000\u0007'],
  ['one word of 2,500 letters', 'x'.repeat(2_500)],
])('a prompt of %s is only words', { timeout: 60_000 }, async (_rule, prompt) => {
  expect(readMp4(await made(engine(), call('job-1', { prompt, audio: false }))).width).toBe(640)
})

test('nothing but the finished file is left', { timeout: 60_000 }, async () => {
  await made(engine(), call('job-1'))
  expect(await readdir(join(folder, 'work'))).toEqual(['job-1.mp4'])
})

test('a restart finds a finished file and encodes nothing', { timeout: 60_000 }, async () => {
  await made(engine(), call('job-1'))
  const restarted = engine({ program: await scripted(fails) })
  expect(await restarted.poll(call('job-1'), {})).toMatchObject({ state: 'completed' })
})

test('what a crash left half made is made anew', { timeout: 60_000 }, async () => {
  const left = join(folder, 'work', 'job-1.0000.part')
  await mkdir(left, { recursive: true })
  await writeFile(join(left, 'video.mp4'), 'half')
  const { seconds } = readMp4(await made(engine(), call('job-1')))
  expect(seconds).toBeCloseTo(2, 1)
  expect(await readdir(join(folder, 'work'))).toEqual(['job-1.mp4'])
})

test('asking again while it runs starts nothing more, and two run at most', async () => {
  const log = join(folder, 'log')
  const program = await scripted(
    `appendFileSync(${JSON.stringify(log)}, 'start\\n')`,
    'await new Promise(resolve => setTimeout(resolve, 200))',
    `appendFileSync(${JSON.stringify(log)}, 'end\\n')`,
    writes,
  )
  const one = engine({ program })
  const asked = ['job-1', 'job-2', 'job-3', 'job-4'].map(id => call(id))
  for (const each of [...asked, ...asked]) expect(await one.start(each)).toEqual({ state: 'running', engineState: {} })
  await Promise.all(asked.map(each => outcome(one, each)))
  let running = 0
  let most = 0
  const lines = (await readFile(log, 'utf8')).trim().split('\n')
  for (const line of lines) {
    running += line === 'start' ? 1 : -1
    most = Math.max(most, running)
  }
  expect(lines).toHaveLength(8)
  expect(most).toBe(2)
})

test.each([
  ['an encoder that fails', [fails], /could not make this video/],
  ['an encoder that writes nothing', ["writeFileSync(out, ''); answer({})"], /wrote an empty file/],
  ['an encoder that dies', ['process.exit(1)'], /could not make this video/],
  ['an encoder that makes no file', ['answer({})'], /could not be written/],
])('%s is a failure in our words', async (_rule, lines, reason) => {
  const complaints: string[] = []
  const one = engine({ program: await scripted(...lines), onComplaint: (_job, words) => complaints.push(words) })
  const failed = await outcome(one, call('job-1'))
  expect(failed).toEqual({ state: 'failed', reason: expect.stringMatching(reason) })
  expect(JSON.stringify(failed)).not.toContain('secret-path')
  expect(complaints).toHaveLength(1)
  expect(await one.poll(call('job-1'), {})).toEqual(failed)
})

test('an image that cannot be read is a failure', async () => {
  const failed = await outcome(
    engine({ program: await scripted(fails) }),
    call('job-1', { image_url: 'https://example.com/a.png' }),
  )
  expect(failed).toMatchObject({ state: 'failed', reason: expect.stringContaining('data URL') })
})

test('closing ends the encoder, and the job is no failure', async () => {
  const one = engine({ program: await scripted('') })
  await one.start(call('job-1'))
  await new Promise(resolve => setTimeout(resolve, 100))
  await one.close()
  await expect(one.poll(call('job-1'), {})).rejects.toMatchObject({ name: 'AbortError' })
  const program = await scripted(writes)
  expect(await outcome(engine({ program }), call('job-1'))).toMatchObject({ state: 'completed' })
})

test('the encoder sees no key of the service', async () => {
  process.env.FAREBOX_TEST_KEY = 'canary'
  try {
    const log = join(folder, 'log')
    await outcome(
      engine({ program: await scripted(`writeFileSync(${JSON.stringify(log)}, JSON.stringify(process.env))`, writes) }),
      call('job-1'),
    )
    expect(await readFile(log, 'utf8')).not.toContain('canary')
  } finally {
    delete process.env.FAREBOX_TEST_KEY
  }
})

test.each(['../../etc/passwd', 'a/b', '', 'a.b', 'x'.repeat(65)])('%j names no job', async jobId => {
  await expect(engine().start(call(jobId))).rejects.toThrow(/letters, digits and dashes/)
})

test('without FFmpeg one sentence says what to install', async () => {
  const program = await scripted("process.send({ problem: 'missing', words: '' })")
  const failed = await outcome(engine({ program }), call('job-1'))
  expect(failed).toMatchObject({ state: 'failed', reason: expect.stringMatching(/npm install .*node-av/) })
})

test.each([
  ['jpeg', { format: 'mjpeg', encoder: 'mjpeg', as: 'yuvj420p' }],
  ['gif', { format: 'gif', encoder: 'gif', as: 'rgb8' }],
  ['webp', { format: 'webp', encoder: 'libwebp', as: 'yuv420p' }],
])('a real %s becomes the background', { timeout: 60_000 }, async (type, { format, encoder, as }) => {
  const graph = `color=c=red:s=96x64,trim=end_frame=1,format=${as}`
  const bytes = await madeMedia(format, [drawn(graph, { encoder, options: {} })])
  const one = engine()
  const withImage = await made(one, call('job-1', { image_url: dataUrl(type, bytes), audio: false }))
  expect(readMp4(withImage)).toMatchObject({ width: 640, height: 360 })
  expect(withImage.equals(await made(one, call('job-2', { audio: false })))).toBe(false)
})
