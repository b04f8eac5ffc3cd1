import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { ComfyVideo } from '#engines/comfy/jobs.ts'
import type { EngineState, JobProgress } from '#engines/ports/media-engines.ts'
import { colouredPng } from '../../service/image-models.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { type ComfyBehaviour, type ComfyDouble, comfyDouble, entryOf } from './comfy-double.ts'

const jobId = '01900000-0000-7000-8000-000000000001'
const workflow = {
  1: { class_type: 'LoadImage', inputs: { image: '{{image|none}}' } },
  2: {
    class_type: 'Video',
    inputs: { text: '{{prompt}}', width: '{{width}}', height: '{{height}}', seconds: '{{seconds}}', seed: '{{seed}}' },
  },
}
const mp4 = Buffer.from('000000186674797069736f6d', 'hex')

let folder: string
const open: { close(): Promise<void> }[] = []
beforeEach(() => {
  folder = temporaryFolder('comfy')
})
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function serverFor(behaviour: ComfyBehaviour = {}): Promise<ComfyDouble> {
  const server = await comfyDouble({ files: { 'output/made.mp4': mp4 }, ...behaviour })
  open.push(server)
  return server
}

function engineOn({ baseUrl }: ComfyDouble): ComfyVideo {
  const engine = new ComfyVideo({ baseUrl, workflow, workFolder: folder })
  open.push(engine)
  return engine
}

const call = (change: object = {}) => ({
  request: VideoQueueRequest.parse({
    ...{ model: 'm', prompt: 'a boat', duration: '4s', resolution: '480p', aspect_ratio: '16:9' },
    ...change,
  }),
  engineModel: 'inner',
  jobId,
  signal: new AbortController().signal,
})

const stateOf = (progress: JobProgress): EngineState => {
  if (progress.state !== 'running') throw new Error(`The job is ${JSON.stringify(progress)}.`)
  return progress.engineState
}

/** Until the job stands in the server's line. */
async function begun(engine: ComfyVideo, given = call()): Promise<EngineState> {
  let state = stateOf(await engine.start(given))
  for (let step = 0; step < 2; step++) state = stateOf(await engine.poll(given, state))
  return state
}

const submissions = ({ seen }: ComfyDouble) => seen.filter(({ path }) => path === '/prompt')
const made = [{ filename: 'made.mp4', subfolder: '', type: 'output' }]

test('a job is submitted under its own id, asked after, and its file fetched', async () => {
  const server = await serverFor()
  const engine = engineOn(server)
  const url = `data:image/png;base64,${(await colouredPng(4, 4)).toString('base64')}`
  const given = call({ image_url: url })
  const state = await begun(engine, given)
  expect(submissions(server)).toMatchObject([
    {
      body: {
        prompt_id: jobId,
        prompt: {
          1: { inputs: { image: 'in/stored-1.png' } },
          2: { inputs: { text: 'a boat', width: 854, height: 480, seconds: 4 } },
        },
      },
    },
  ])
  expect(await engine.poll(given, state)).toEqual({ state: 'running', engineState: state })
  server.finish(jobId, entryOf(made))
  const done = await engine.poll(given, state)
  expect(done).toEqual({ state: 'completed', path: join(folder, `${jobId}.mp4`), mimeType: 'video/mp4' })
  expect(await readFile(join(folder, `${jobId}.mp4`))).toEqual(mp4)
  expect(await engine.start(given)).toEqual(done)
})

test('another process finds the work by its state, and none is submitted twice', async () => {
  const server = await serverFor()
  const state = await begun(engineOn(server))
  server.finish(jobId, entryOf(made))
  expect(await engineOn(server).poll(call(), state)).toMatchObject({ state: 'completed' })
  expect(submissions(server)).toHaveLength(1)
})

test.each([
  ['a server that takes our id', {}],
  ['one that gives its own', { ownIds: true }],
])('a submission whose answer was lost is found again at %s', async (_name, behaviour) => {
  const server = await serverFor({ ...behaviour, submission: 'cut' })
  const engine = engineOn(server)
  const sending = stateOf(await engine.poll(call(), stateOf(await engine.start(call()))))
  await expect(engine.poll(call(), sending)).rejects.toThrow()
  const state = stateOf(await engine.poll(call(), sending))
  const [item] = server.line.running
  expect([submissions(server).length, state.promptId]).toEqual([1, item?.id])
})

test.each([
  ['a video', {}, entryOf(made), 'completed'],
  ['a video under an id of the server’s own', { ownIds: true }, entryOf(made), 'completed'],
  ['a failure', {}, entryOf([], 'error'), 'failed'],
  ['a failure under an id of the server’s own', { ownIds: true }, entryOf([], 'error'), 'failed'],
])(
  'work that has ended before it is asked after again is not begun twice: %s',
  async (_name, behaviour, entry, ends) => {
    const server = await serverFor({ ...behaviour, submission: 'cut' })
    const engine = engineOn(server)
    const sending = stateOf(await engine.poll(call(), stateOf(await engine.start(call()))))
    await expect(engine.poll(call(), sending)).rejects.toThrow()
    for (const other of ['older', 'newer']) server.finish(other, entryOf([]))
    server.finish(server.line.running[0]?.id ?? '', entry)
    server.finish('newest', entryOf([]))
    expect(await engine.poll(call(), stateOf(await engine.poll(call(), sending)))).toMatchObject({ state: ends })
    expect(submissions(server)).toHaveLength(1)
  },
)

test('work that a server has forgotten is started again, a limited number of times', async () => {
  const server = await serverFor()
  const engine = engineOn(server)
  let state = await begun(engine)
  for (let again = 0; again < 2; again++) {
    server.forget()
    state = stateOf(await engine.poll(call(), state))
  }
  server.forget()
  expect(await engine.poll(call(), state)).toMatchObject({ state: 'failed', reason: 'The engine lost the job.' })
  expect(submissions(server)).toHaveLength(3)
})

test.each([
  ['failed work', entryOf([], 'error'), 'could not complete the request'],
  ['work without a video', entryOf([{ filename: 'a.png', type: 'output' }]), 'no MP4'],
])('%s is a verdict', async (_name, entry, says) => {
  const server = await serverFor()
  const engine = engineOn(server)
  const state = await begun(engine)
  server.finish(jobId, entry)
  expect(await engine.poll(call(), state)).toMatchObject({ state: 'failed', reason: expect.stringContaining(says) })
})

test.each([
  ['an invalid image', { image_url: 'data:image/png;base64,AAAA' }, 'cannot be used'],
  ['an image without a place', { end_image_url: 'data:image/png;base64,AAAA' }, 'does not support end_image_url'],
])('%s fails the job before anything is submitted', async (_name, change, says) => {
  const server = await serverFor()
  const engine = engineOn(server)
  const ready = stateOf(await engine.start(call(change)))
  const sending = stateOf(await engine.poll(call(change), ready))
  expect(await engine.poll(call(change), sending)).toMatchObject({
    state: 'failed',
    reason: expect.stringContaining(says),
  })
  expect(submissions(server)).toEqual([])
})

test('a server that is away is no verdict', async () => {
  const server = await serverFor()
  const engine = engineOn(server)
  const state = await begun(engine)
  await server.close()
  await expect(engine.poll(call(), state)).rejects.toThrow()
  open.shift()
})
