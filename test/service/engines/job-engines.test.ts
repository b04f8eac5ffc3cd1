import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { VideoQueueRequest } from '#contract/video.ts'
import type { EngineState, JobProgress, VideoCall, VideoEngine } from '#service/engines/engine.ts'
import { fetchedVideoMs, jobQuestionMs } from '#service/engines/job-bounds.ts'
import { OpenAiVideos } from '#service/engines/openai/videos.ts'
import { ServiceVideo } from '#service/engines/service/video.ts'
import { pooledVideo } from '#service/engines/upstreams/pooled-engines.ts'
import { UpstreamPool } from '#service/engines/upstreams/upstream-pool.ts'
import { dataUrl, png } from '../models/example-pictures.ts'
import { TestClock } from '../open-service.ts'
import { cutOff, film, halfFilm, type JobDouble, jobDouble, json, type Said } from './job-double.ts'

let folder = ''
let server: JobDouble
const opened: { close(): Promise<void> }[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-jobs-'))
  server = await jobDouble()
})
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

type Kind = 'service' | 'openai'

function engine(kind: Kind, takesKeys?: boolean): VideoEngine {
  const options = {
    baseUrl: `${server.origin}/v1`,
    workFolder: folder,
    apiKeyVariable: 'KEY',
    environment: { KEY: 'sk-canary' },
    ...(takesKeys === undefined ? {} : { takesKeys }),
  }
  const made = kind === 'service' ? new ServiceVideo(options) : new OpenAiVideos(options)
  opened.push(made)
  return made
}

const call = (change: object = {}): VideoCall => ({
  request: VideoQueueRequest.parse({
    model: 'public',
    prompt: 'a boat',
    duration: '4s',
    resolution: '720p',
    ...change,
  }),
  engineModel: 'their-model',
  jobId: '0199-job',
  signal: new AbortController().signal,
})

const stateOf = (progress: JobProgress): EngineState => {
  if (progress.state !== 'running') throw new Error(`It is ${progress.state}.`)
  return progress.engineState
}

/** As the runner asks: start, then again and again with the last state, until there is a verdict or these steps are over. */
async function follow(made: VideoEngine, steps: number, asked = call()): Promise<JobProgress> {
  let progress = await made.start(asked)
  for (let step = 0; step < steps && progress.state === 'running'; step++) {
    progress = await made.poll(asked, progress.engineState)
  }
  return progress
}

const wires = {
  service: {
    submit: 'POST /v1/video/queue',
    taken: json({ model: 'their-model', queue_id: 'q1' }),
    look: 'POST /v1/video/retrieve',
  },
  openai: { submit: 'POST /v1/videos', taken: json({ id: 'q1', status: 'queued' }), look: 'GET /v1/videos/q1' },
} as const
const kinds: Kind[] = ['service', 'openai']
const submissions = () => server.lines().filter(line => line === wires.service.submit || line === wires.openai.submit)

describe('a video is asked for once', () => {
  test.each(kinds)('%s: with its key, and the job’s id as the key of the request', async kind => {
    server.says(wires[kind].submit, wires[kind].taken)
    await follow(engine(kind), 2)
    expect(submissions()).toHaveLength(1)
    expect(server.seen[0]?.headers).toMatchObject({ authorization: 'Bearer sk-canary', 'idempotency-key': '0199-job' })
  })

  const outcomes: [rule: string, kind: Kind, takesKeys: boolean, said: Said, again: boolean][] = [
    ['V4: a lost answer, where keys are taken', 'service', true, cutOff, true],
    ['V4: a lost answer, where they are not', 'service', false, cutOff, false],
    ['V4: a lost answer', 'openai', false, cutOff, false],
    ['an error that says nothing', 'openai', false, json({}, 500), false],
    ['the same, where keys are taken', 'openai', true, json({}, 500), true],
    ['too many requests', 'openai', false, json({}, 429), true],
    ['no capacity', 'openai', false, json({}, 503), true],
    ['too many requests', 'service', false, json({ error: 'Rate limit exceeded' }, 429), true],
    ['no capacity', 'service', false, json({ error: 'The model is at capacity.' }, 503), true],
  ]
  test.each(outcomes)('%s (%s, keys %s)', async (_rule, kind, takesKeys, said, again) => {
    const made = engine(kind, takesKeys)
    server.says(wires[kind].submit, said)
    const announced = stateOf(await follow(made, 1))
    const outcome = await made
      .poll(call(), announced)
      .catch(() => ({ state: 'running', engineState: announced }) as const)
    expect(submissions()).toHaveLength(1)
    if (!again) {
      expect(outcome).toMatchObject({ state: 'failed', reason: expect.stringContaining('not known whether') })
      return
    }
    server.says(wires[kind].submit, wires[kind].taken)
    let progress: JobProgress = outcome
    for (let step = 0; step < 3 && submissions().length < 2; step++)
      progress = await made.poll(call(), stateOf(progress))
    expect(submissions()).toHaveLength(2)
    expect(JSON.stringify(progress)).toContain('q1')
  })

  test.each(kinds)('%s: where no connection came about it was not asked for', async kind => {
    const made = engine(kind, false)
    await server.close()
    const announced = stateOf(await follow(made, 1))
    expect(await made.poll(call(), announced)).toEqual({
      state: 'running',
      engineState: { phase: 'ready', isAway: true },
    })
  })

  test.each([
    ['service', true, 1],
    ['service', false, 0],
    ['openai', false, 0],
  ] as const)('%s, keys %s: the next process finds that it was about to be sent', async (kind, takesKeys, sent) => {
    server.says(wires[kind].submit, wires[kind].taken)
    const announced = stateOf(await follow(engine(kind, takesKeys), 1))
    const outcome = await engine(kind, takesKeys).poll(call(), announced)
    expect([submissions().length, outcome.state]).toEqual([sent, sent ? 'running' : 'failed'])
  })
})

async function pooled(kind: Kind) {
  const dead = await jobDouble()
  await dead.close()
  const Engine = kind === 'service' ? ServiceVideo : OpenAiVideos
  const engines = [dead.origin, server.origin].map(origin => {
    const made = new Engine({ workFolder: folder, takesKeys: false, baseUrl: `${origin}/v1` })
    opened.push(made)
    return made
  })
  const upstreams = engines.map((each, index) => ({
    ...{ name: `upstream-${index}`, engine: each, engineModel: `model-${index}`, weight: 10 - index, concurrency: 1 },
  }))
  const clock = new TestClock()
  const pool = new UpstreamPool({ upstreams, queue: { length: 0, waitMs: 1 }, clock })
  return { made: pooledVideo(pool), pool, clock }
}

describe('over two upstreams, of which one is dead', () => {
  test.each(kinds)('%s: the dead one is left out; that a job was begun there is no sign of life', async kind => {
    server.says(wires[kind].submit, wires[kind].taken)
    const { made, pool, clock } = await pooled(kind)
    for (let job = 0; job < 40 && pool.states[0]?.state !== 'down'; job++, clock.pass(1_000)) await follow(made, 4)
    expect(pool.states[0]).toMatchObject({ state: 'down', failures: { MODEL_OFFLINE: 3 } })
  })

  test.each(kinds)('%s: the other one is asked, once', async kind => {
    server.says(wires[kind].submit, wires[kind].taken)
    const progress = await follow((await pooled(kind)).made, 4)
    expect(stateOf(progress).upstream).toBe('upstream-1')
    expect(submissions()).toHaveLength(1)
    expect(server.seen[0]?.text).toContain('model-1')
  })

  test.each(kinds)('%s: where the other one takes none either, it is tried until one does', async kind => {
    server.says(wires[kind].submit, json({}, 503))
    const { made } = await pooled(kind)
    const waiting = stateOf(await follow(made, 6))
    server.says(wires[kind].submit, wires[kind].taken)
    let progress: JobProgress = { state: 'running', engineState: waiting }
    for (let step = 0; step < 6; step++) progress = await made.poll(call(), stateOf(progress))
    expect(JSON.stringify(progress)).toContain('q1')
  })
})

describe('a refused submission is the verdict', () => {
  const refusals: [kind: Kind, status: number, body: object, reason: RegExp, contentPolicy: boolean][] = [
    ['service', 400, { error: 'Invalid request parameters' }, /does not take this request/, false],
    ['service', 402, { error: 'Insufficient USD' }, /cannot be used at the moment/, false],
    ['service', 401, { error: 'Authentication failed' }, /cannot be used/, false],
    ['service', 409, { error: { code: 'needs_consent', message: 'x' } }, /asks for a consent/, false],
    ['service', 413, { code: 'PAYLOAD_TOO_LARGE', error: 'x' }, /does not take this request/, false],
    ['service', 422, { error: 'Your prompt violates' }, /refused the content/, true],
    ['openai', 400, { error: { code: 'moderation_blocked', message: 'secret words' } }, /refused the content/, true],
    ['openai', 400, { error: { message: 'seconds' } }, /does not take this request/, false],
    ['openai', 404, { error: { message: 'no such model' } }, /cannot be used/, false],
    ['openai', 402, {}, /cannot be used/, false],
  ]
  test.each(refusals)('%s %i %j', async (kind, status, body, reason, contentPolicy) => {
    server.says(wires[kind].submit, json(body, status))
    const verdict = await follow(engine(kind), 3)
    expect(verdict).toMatchObject({ state: 'failed', reason: expect.stringMatching(reason) })
    expect(verdict.state === 'failed' && (verdict.contentPolicy ?? false)).toBe(contentPolicy)
    expect(JSON.stringify(verdict)).not.toContain('secret')
  })
})

describe('what is said of a running job', () => {
  const looks: [rule: string, kind: Kind, said: Said, outcome: 'running' | 'failed' | 'throws', content?: boolean][] = [
    ['it runs', 'service', json({ status: 'PROCESSING', average_execution_time: 1, execution_duration: 1 }), 'running'],
    ['it failed', 'service', json({ error: 'Inference processing failed' }, 500), 'failed'],
    ['it failed for its content', 'service', json({ error: { type: 'provider_content_policy' } }, 422), 'failed', true],
    ['an error of its own', 'service', json({ error: 'An unknown error occurred' }, 500), 'running'],
    ['it is not there', 'service', json({ error: 'Request ID is invalid.' }, 400), 'running'],
    ['our credit is spent', 'service', json({ error: 'Insufficient' }, 402), 'throws'],
    ['too often', 'service', json({ error: 'Rate limit exceeded' }, 429), 'throws'],
    ['no capacity', 'service', json({ error: 'at capacity' }, 503), 'throws'],
    ['nothing', 'service', cutOff, 'throws'],
    ['V6: half a film', 'service', halfFilm, 'throws'],
    ['it waits', 'openai', json({ id: 'q1', status: 'queued' }), 'running'],
    ['it runs', 'openai', json({ id: 'q1', status: 'in_progress', progress: 40 }), 'running'],
    ['it failed', 'openai', json({ status: 'failed', error: { code: 'x', message: 'secret' } }), 'failed'],
    [
      'it failed for its content',
      'openai',
      json({ status: 'failed', error: { code: 'moderation_blocked' } }),
      'failed',
      true,
    ],
    ['it is not there', 'openai', json({ error: {} }, 404), 'running'],
    ['V3: it is in a state that nobody knows', 'openai', json({ id: 'q1', status: 'dreaming' }), 'running'],
    ['an error', 'openai', json({}, 500), 'throws'],
    ['too often', 'openai', json({}, 429), 'throws'],
    ['no JSON', 'openai', response => void response.end('<html>'), 'throws'],
  ]
  test.each(looks)('%s (%s)', async (_rule, kind, said, outcome, content = false) => {
    server.says(wires[kind].submit, wires[kind].taken)
    const made = engine(kind)
    const taken = stateOf(await follow(made, 2))
    server.says(wires[kind].look, said)
    if (outcome === 'throws') {
      await expect(made.poll(call(), taken)).rejects.toThrow()
      expect(await readdir(folder)).toEqual([])
      return
    }
    const progress = await made.poll(call(), taken)
    expect(progress.state).toBe(outcome)
    expect(progress.state === 'failed' && (progress.contentPolicy ?? false)).toBe(content)
  })

  test.each(kinds)('%s: that it is not there is believed in the end', async kind => {
    server.says(wires[kind].submit, wires[kind].taken)
    server.says(wires[kind].look, json({ error: 'Request ID is invalid.' }, kind === 'service' ? 400 : 404))
    const verdict = await follow(engine(kind), 30)
    expect(verdict).toMatchObject({ state: 'failed', reason: expect.stringContaining('lost the job') })
  })
})

describe('a finished video', () => {
  const bytes = Buffer.from('0000ftypisom a film')
  const finished: [rule: string, kind: Kind, prepare: () => void, deletes: string][] = [
    ['inline', 'service', () => server.says(wires.service.look, film(bytes)), 'POST /v1/video/complete'],
    [
      'by its address',
      'service',
      () => {
        const download_url = `${server.origin}/signed?x=1`
        server.says(wires.service.submit, json({ model: 'their-model', queue_id: 'q1', download_url }))
        server.says(wires.service.look, json({ status: 'COMPLETED' }))
        server.says('GET /signed?x=1', film(bytes))
      },
      'POST /v1/video/complete',
    ],
    [
      'its content',
      'openai',
      () => {
        server.says(wires.openai.look, json({ status: 'completed' }))
        server.says('GET /v1/videos/q1/content', film(bytes))
      },
      'DELETE /v1/videos/q1',
    ],
  ]
  test.each(finished)('%s (%s)', async (_rule, kind, prepare, deletes) => {
    server.says(wires[kind].submit, wires[kind].taken)
    prepare()
    const done = await follow(engine(kind), 5)
    if (done.state !== 'completed') throw new Error(JSON.stringify(done))
    expect(await readFile(done.path)).toEqual(bytes)
    expect(server.lines().at(-1)).toBe(deletes)
    // Whoever asks again, after a restart too, finds the file and asks nobody.
    const before = server.seen.length
    expect(await engine(kind).start(call())).toEqual(done)
    expect(server.seen.length).toBe(before)
  })

  describe('that comes slowly', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
    afterEach(() => void vi.useRealTimers())

    /** Its head has come. */
    async function begun() {
      const { promise: held, resolve } = Promise.withResolvers<ServerResponse>()
      server.says(wires.service.look, response => {
        response.writeHead(200, { 'content-type': 'video/mp4' })
        response.write(bytes, () => resolve(response))
      })
      const outcome = engine('service')
        .poll(call(), { queueId: 'q1' })
        .catch(() => ({ state: 'broken off' }))
      const written = async () => {
        const [part = ''] = await readdir(folder)
        return part ? (await stat(join(folder, part))).size : 0
      }
      const response = await held
      await expect.poll(written).toBe(bytes.length)
      return { response, outcome, written }
    }

    test('has longer than the question after it', async () => {
      const { response, outcome } = await begun()
      await vi.advanceTimersByTimeAsync(jobQuestionMs + 1_000)
      response.end()
      expect((await outcome).state).toBe('completed')
    })

    test('is not waited for without end', async () => {
      const { response, outcome, written } = await begun()
      for (let passedMs = 0, more = 1; passedMs <= fetchedVideoMs - 40_000; passedMs += 40_000, more++) {
        response.write('x')
        await expect.poll(written).toBe(bytes.length + more)
        await vi.advanceTimersByTimeAsync(40_000)
      }
      expect([(await outcome).state, await readdir(folder)]).toEqual(['broken off', []])
    })
  })

  test('it is an MP4 by its bytes, whatever its type is said to be', async () => {
    const typed =
      (type: string, body: Buffer): Said =>
      response =>
        void response.writeHead(200, { 'content-type': type }).end(body)
    const made = engine('service')
    const asked = (jobId: string) => made.poll({ ...call(), jobId }, { queueId: 'q1' })
    for (const type of ['application/octet-stream', 'video/quicktime', 'video/mp4']) {
      server.says(wires.service.look, typed(type, bytes))
      expect(await asked(`job-${type.length}`)).toMatchObject({ state: 'completed', mimeType: 'video/mp4' })
    }
    server.says(wires.service.look, typed('video/mp4', Buffer.from('<html>no film</html>')))
    expect(await asked('job-none')).toEqual({ state: 'failed', reason: 'The engine made no MP4.' })
    expect(await readdir(folder)).toHaveLength(3)
  })

  test('V6: no key goes to a signed address, and to no other host in plain', async () => {
    server.says(wires.service.look, json({ status: 'COMPLETED' }))
    server.says('GET /signed', film(bytes))
    const made = engine('service')
    const at = (downloadUrl: string) => made.poll(call(), { queueId: 'q1', downloadUrl })
    await expect(at(`http://localhost:1/signed`)).rejects.toThrow('not fetched')
    await expect(at('file:///etc/passwd')).rejects.toThrow('not fetched')
    expect((await at(`${server.origin}/signed`)).state).toBe('completed')
    expect(server.seen.find(({ line }) => line === 'GET /signed')?.headers.authorization).toBeUndefined()
  })
})

describe('what is asked', () => {
  const agreed = {
    confirmed_terms_and_privacy: true,
    confirmed_legal_right: true,
    confirmed_screening_acknowledged: true,
  }
  test('service: the caller’s request by the name of its model there, consents too', async () => {
    const image_url = dataUrl('png', png(4, 4))
    const asked = call({ image_url, consents: { seedance: agreed }, seed: 7 })
    server.says(wires.service.submit, wires.service.taken)
    await follow(engine('service'), 2, asked)
    expect(JSON.parse(server.seen[0]?.text ?? '')).toEqual({ ...asked.request, model: 'their-model' })
  })

  test('openai: a form of its own members, the picture as a file', async () => {
    const asked = call({ image_url: dataUrl('png', png(4, 4)), aspect_ratio: '9:16' })
    server.says(wires.openai.submit, wires.openai.taken)
    await follow(engine('openai'), 2, asked)
    const { text = '', headers = {} } = server.seen[0] ?? {}
    expect(headers['content-type']).toMatch(/^multipart\/form-data/)
    for (const [name, value] of [
      ['model', 'their-model'],
      ['prompt', 'a boat'],
      ['seconds', '4'],
      ['size', '720x1280'],
    ]) {
      expect(text).toContain(`name="${name}"\r\n\r\n${value}\r\n`)
    }
    expect(text).toMatch(/name="input_reference"; filename="picture\.png"\r\n[Cc]ontent-[Tt]ype: image\/png/)
  })
})
