import { existsSync } from 'node:fs'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { longCallMs, paidAnswerMs } from '#agent/bounds.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { answerJson, type Handler } from '../client/little-server.ts'
import { manualClock } from '../client/manual-clock.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'
import { asAssistant } from './as-assistant.ts'
import { gate } from './gate.ts'
import { type AgentSetUp, openAgent, temporaryFolder } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
const price = (usd: number) => ({ usd, diem: usd })
const record = (id: string, type: string, pricing: object) => ({
  ...{ id, object: 'model', owned_by: 'x', type },
  model_spec: { privacy: 'private', pricing },
})
const data = [
  record('paint', 'image', { generation: price(0.01) }),
  record('ear', 'asr', { per_audio_second: price(0.001) }),
]

/** A service whose paid answers a test gives, and agents on one folder. */
async function setUp(answer: Handler, options: Partial<AgentSetUp> = {}) {
  let asked = 0
  const service = await pretendService({
    credit: 5,
    async instead(seen, response) {
      if (seen.path.includes('/models')) {
        answerJson(response, 200, { object: 'list', type: 'all', data }, { 'x-service-paid-once-per-key': 'true' })
        return true
      }
      if (!/\/(image|audio)\//.test(seen.path)) return false
      await answer(seen, response, ++asked)
      return true
    },
  })
  onTestFinished(service.close)
  const [dataFolder, outputFolder] = [temporaryFolder(), temporaryFolder()]
  await writeFile(join(outputFolder, 'a.wav'), wavOfChunks({}, [1_600]))
  const clock = manualClock()
  const pause: AgentSetUp['pause'] = async (ms, signal) => {
    if (ms === paidAnswerMs || ms === longCallMs) return new Promise(() => {})
    await new Promise(resolve => setImmediate(resolve))
    signal?.throwIfAborted()
    clock.nowMs += ms
  }
  const agents: Awaited<ReturnType<typeof openAgent>>[] = []
  const open = async () => {
    const shared = { baseUrl: service.baseUrl, dataFolder, outputFolder, clock, pause }
    const agent = await openAgent({ ...shared, ...options })
    onTestFinished(agent.close)
    agents.push(agent)
    return (name: string, given: object) => asAssistant(agent.host, name, given)
  }
  const keys = () => service.seen.flatMap(({ headers }) => headers['idempotency-key'] ?? [])
  const saved = async () => (await readdir(outputFolder)).filter(name => name !== 'a.wav')
  /** Calls under way have ended. */
  const settled = () => Promise.all(agents.map(({ paidCalls }) => paidCalls.settled()))
  return { service, open, settled, keys, saved, outputFolder }
}

const image: Handler = (_seen, response) => {
  response.writeHead(200, { 'content-type': 'image/png', 'x-service-is-blurred': 'true' }).end(png)
}

const kite = { model: 'paint', prompt: 'A kite.' }
const charged = async (run: Promise<unknown>) => {
  const error: unknown = await run.catch(thrown => thrown)
  if (!(error instanceof ToolFailure)) throw error
  return error.facts.charged
}

test('an image is a file of ours, and what the service blurred is said', async () => {
  const { open, saved } = await setUp(image)
  const { output, files, text } = await (await open())('image_create', kite)
  expect(output).toMatchObject({ model: 'paint', is_blurred: true })
  expect(text).toContain('blurred')
  expect(await saved()).toHaveLength(1)
  expect(await readFile(files[0]?.path ?? '')).toEqual(png)
})

const broken: [rule: string, answer: Handler][] = [
  [
    'is cut',
    (_seen, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': '5000' })
      response.write(png, () => response.destroy())
    },
  ],
  [
    'is no image, whatever it says',
    (_seen, response) => void response.writeHead(200, { 'content-type': 'image/png' }).end('<script>'),
  ],
  [
    'is sound, and an image was asked for',
    (_seen, response) => void response.writeHead(200, { 'content-type': 'image/png' }).end(wavOfChunks({}, [16])),
  ],
]
test.each(broken)('an answer that %s leaves no file, and its charge is unknown', async (_rule, answer) => {
  const { open, saved } = await setUp(answer)
  expect(await charged((await open())('image_create', kite))).toBe('unknown')
  expect(await saved()).toEqual([])
})

test('a result that cannot be saved is requested again under its key, and not bought again', async () => {
  const { open, keys, saved, outputFolder } = await setUp(async (seen, response, count) => {
    // The folder goes between the request and its answer.
    if (count === 1) await rename(outputFolder, `${outputFolder}-away`)
    return image(seen, response, count)
  })
  const call = await open()
  await expect(call('image_create', kite)).rejects.toMatchObject({
    facts: { charged: 'unknown', happened: expect.stringMatching(/could not be written/) },
  })
  await rename(`${outputFolder}-away`, outputFolder)
  expect((await call('image_create', kite)).files).toHaveLength(1)
  expect(keys()).toHaveLength(2)
  expect(new Set(keys()).size).toBe(1)
  expect(await saved()).toHaveLength(1)
})

test('a folder that cannot be created is reported before anything is bought', async () => {
  const { service, open, outputFolder } = await setUp(image)
  await rename(outputFolder, `${outputFolder}-away`)
  await writeFile(outputFolder, '')
  expect(await charged((await open())('image_create', kite))).toBe(0n)
  expect(service.seen.filter(({ path }) => path.includes('/image/'))).toEqual([])
})

test('if one of several images is invalid, no file is kept', async () => {
  const { open, saved } = await setUp((_seen, response) =>
    answerJson(response, 200, { id: 'x', images: [png.toString('base64'), 'PHNjcmlwdD4='], timing: {} }),
  )
  expect(await charged((await open())('image_create', { ...kite, variants: 2 }))).toBe('unknown')
  expect(await saved()).toEqual([])
})

test('a lost answer is asked for under the same key by the same call, after a restart too', async () => {
  let isLost = true
  const { open, keys, saved } = await setUp((seen, response, count) => {
    if (isLost) return void response.destroy()
    return image(seen, response, count)
  })
  expect(await charged((await open())('image_create', kite))).toBe('unknown')
  isLost = false
  const { files } = await (await open())('image_create', kite)
  expect(files).toHaveLength(1)
  expect(new Set(keys()).size).toBe(1)
  expect(await saved()).toHaveLength(1)
})

test('a recording whose answer was lost is sent once more with the same bytes', async () => {
  let isLost = true
  const { service, open, keys } = await setUp((_seen, response) => {
    if (isLost) return void response.destroy()
    answerJson(response, 200, { text: 'Hello.' })
  })
  const heard = { model: 'ear', file: 'a.wav' }
  expect(await charged((await open())('transcribe', heard))).toBe('unknown')
  isLost = false
  expect((await (await open())('transcribe', heard)).output).toMatchObject({ text: 'Hello.' })
  expect(new Set(keys()).size).toBe(1)
  const sent = service.seen.filter(({ path }) => path.endsWith('/audio/transcriptions')).map(contentOf)
  expect(new Set(sent).size).toBe(1)
})

/** A form without its boundary, which is another one each time. */
const contentOf = ({ headers, body }: { headers: Record<string, unknown>; body: string }): string =>
  body.replaceAll(/boundary=(.+)$/.exec(String(headers['content-type']))?.[1] ?? '', '')

test('a long transcript is shown to its bound, and saved whole', async () => {
  const text = 'word '.repeat(20_000)
  const { open } = await setUp((_seen, response) => answerJson(response, 200, { text }))
  const { output, files } = await (await open())('transcribe', { model: 'ear', file: 'a.wav' })
  expect(output).toMatchObject({ cut_characters: 88_000 })
  expect(await readFile(files[0]?.path ?? '', 'utf8')).toBe(text)
})

test('an image that takes too long is a job, whose file is there once it is done', async () => {
  const held = gate()
  const clock = manualClock()
  let isLong = true
  const { open, settled } = await setUp(
    async (seen, response, count) => {
      await held.passed
      return image(seen, response, count)
    },
    {
      clock,
      pause: async ms => {
        if (ms === longCallMs && isLong) return held.reached
        if (ms === paidAnswerMs || ms === longCallMs) return new Promise(() => {})
        await new Promise(resolve => setImmediate(resolve))
        clock.nowMs += ms
      },
    },
  )
  const call = await open()
  const started = await call('image_create', { ...kite, preview: true })
  expect(started.output).toMatchObject({ state: 'running', model: 'paint' })
  isLong = false
  held.open()
  await settled()
  const done = await call('job_wait', { job_id: started.output.job_id, wait_seconds: 5 })
  expect(done.output).toMatchObject({ model: 'paint', files: [{ mime_type: 'image/png' }] })
  expect(existsSync(done.files[0]?.path ?? '')).toBe(true)
  // What was asked for with the call: of this image there can be none.
  expect(done.shows).toEqual([{ type: 'text', text: expect.stringContaining('there is no preview') }])
})
