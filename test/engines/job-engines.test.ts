import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { OpenAiVideos } from '#engines/openai/videos.ts'
import type { JobProgress } from '#engines/ports/media-engines.ts'
import { ServiceVideo } from '#engines/service/service-engines.ts'
import { pooledJobs } from '#engines/upstreams/pooled-engines.ts'
import { UpstreamPool } from '#engines/upstreams/upstream-pool.ts'
import { agreed } from '../agreed.ts'
import { dataUrl, png } from '../service/models/example-images.ts'
import { TestClock } from '../service/open-service.ts'
import { cutOff, halfVideo, jobDouble, json, type Said } from './job-double.ts'
import { call, follow, jobEngines, type Kind, kinds, stateOf, wires } from './job-engines.ts'

const world = jobEngines()

describe('a video is asked for once', () => {
  test.each(kinds)('%s: with its key, and the job’s id as the key of the request', async kind => {
    world.server.says(wires[kind].submit, wires[kind].taken)
    await follow(world.engine(kind), 2)
    expect(world.submissions()).toHaveLength(1)
    expect(world.server.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer sk-canary',
      'idempotency-key': '0199-job',
    })
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
    const made = world.engine(kind, takesKeys)
    world.server.says(wires[kind].submit, said)
    const announced = stateOf(await follow(made, 1))
    const outcome = await made
      .poll(call(), announced)
      .catch(() => ({ state: 'running', engineState: announced }) as const)
    expect(world.submissions()).toHaveLength(1)
    if (!again) {
      expect(outcome).toMatchObject({ state: 'failed', reason: expect.stringContaining('unknown whether') })
      return
    }
    world.server.says(wires[kind].submit, wires[kind].taken)
    let progress: JobProgress = outcome
    for (let step = 0; step < 3 && world.submissions().length < 2; step++)
      progress = await made.poll(call(), stateOf(progress))
    expect(world.submissions()).toHaveLength(2)
    expect(JSON.stringify(progress)).toContain('q1')
  })

  test.each(kinds)('%s: where no connection came about it was not asked for', async kind => {
    const made = world.engine(kind, false)
    await world.server.close()
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
    world.server.says(wires[kind].submit, wires[kind].taken)
    const announced = stateOf(await follow(world.engine(kind, takesKeys), 1))
    const outcome = await world.engine(kind, takesKeys).poll(call(), announced)
    expect([world.submissions().length, outcome.state]).toEqual([sent, sent ? 'running' : 'failed'])
  })
})

async function pooled(kind: Kind) {
  const dead = await jobDouble()
  await dead.close()
  const Engine = kind === 'service' ? ServiceVideo : OpenAiVideos
  const engines = [dead.origin, world.server.origin].map(origin => {
    const made = new Engine({ workFolder: world.folder, takesKeys: false, baseUrl: `${origin}/v1` })
    world.opens(made)
    return made
  })
  const upstreams = engines.map((each, index) => ({
    ...{ name: `upstream-${index}`, engine: each, engineModel: `model-${index}`, weight: 10 - index, concurrency: 1 },
  }))
  const clock = new TestClock()
  const pool = new UpstreamPool({ upstreams, queue: { length: 0, waitMs: 1 }, clock })
  return { made: pooledJobs(pool), pool, clock }
}

describe('over two upstreams, one of which is down', () => {
  test.each(kinds)('%s: the dead one is left out; that a job was begun there is no sign of life', async kind => {
    world.server.says(wires[kind].submit, wires[kind].taken)
    const { made, pool, clock } = await pooled(kind)
    for (let job = 0; job < 40 && pool.states[0]?.state !== 'down'; job++, clock.pass(1_000)) await follow(made, 4)
    expect(pool.states[0]).toMatchObject({ state: 'down', failures: { MODEL_OFFLINE: 3 } })
  })

  test.each(kinds)('%s: the other one is asked, once', async kind => {
    world.server.says(wires[kind].submit, wires[kind].taken)
    const progress = await follow((await pooled(kind)).made, 4)
    expect(stateOf(progress).upstream).toBe('upstream-1')
    expect(world.submissions()).toHaveLength(1)
    expect(world.server.seen[0]?.text).toContain('model-1')
  })

  test.each(kinds)('%s: where the other one takes none either, it is tried until one does', async kind => {
    world.server.says(wires[kind].submit, json({}, 503))
    const { made } = await pooled(kind)
    const waiting = stateOf(await follow(made, 6))
    world.server.says(wires[kind].submit, wires[kind].taken)
    let progress: JobProgress = { state: 'running', engineState: waiting }
    for (let step = 0; step < 6; step++) progress = await made.poll(call(), stateOf(progress))
    expect(JSON.stringify(progress)).toContain('q1')
  })
})

describe('a refused submission is the verdict', () => {
  const refusals: [kind: Kind, status: number, body: object, reason: RegExp, contentPolicy: boolean][] = [
    ['service', 400, { error: 'Invalid request parameters' }, /does not accept this request/, false],
    ['service', 402, { error: 'Insufficient USD' }, /cannot be used at the moment/, false],
    ['service', 401, { error: 'Authentication failed' }, /cannot be used/, false],
    ['service', 409, { error: { code: 'needs_consent', message: 'x' } }, /requires a consent/, false],
    ['service', 413, { code: 'PAYLOAD_TOO_LARGE', error: 'x' }, /does not accept this request/, false],
    ['service', 422, { error: 'Your prompt violates' }, /refused the content/, true],
    ['openai', 400, { error: { code: 'moderation_blocked', message: 'secret words' } }, /refused the content/, true],
    ['openai', 400, { error: { message: 'seconds' } }, /does not accept this request/, false],
    ['openai', 404, { error: { message: 'no such model' } }, /cannot be used/, false],
    ['openai', 402, {}, /cannot be used/, false],
  ]
  test.each(refusals)('%s %i %j', async (kind, status, body, reason, contentPolicy) => {
    world.server.says(wires[kind].submit, json(body, status))
    const verdict = await follow(world.engine(kind), 3)
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
    ['V6: half a film', 'service', halfVideo, 'throws'],
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
    ['V3: it is in an unknown state', 'openai', json({ id: 'q1', status: 'dreaming' }), 'running'],
    ['an error', 'openai', json({}, 500), 'throws'],
    ['too often', 'openai', json({}, 429), 'throws'],
    ['no JSON', 'openai', response => void response.end('<html>'), 'throws'],
  ]
  test.each(looks)('%s (%s)', async (_rule, kind, said, outcome, content = false) => {
    world.server.says(wires[kind].submit, wires[kind].taken)
    const made = world.engine(kind)
    const taken = stateOf(await follow(made, 2))
    world.server.says(wires[kind].look, said)
    if (outcome === 'throws') {
      await expect(made.poll(call(), taken)).rejects.toThrow()
      expect(await readdir(world.folder)).toEqual([])
      return
    }
    const progress = await made.poll(call(), taken)
    expect(progress.state).toBe(outcome)
    expect(progress.state === 'failed' && (progress.contentPolicy ?? false)).toBe(content)
  })

  test.each(kinds)('%s: that it is not there is believed in the end', async kind => {
    world.server.says(wires[kind].submit, wires[kind].taken)
    world.server.says(wires[kind].look, json({ error: 'Request ID is invalid.' }, kind === 'service' ? 400 : 404))
    const verdict = await follow(world.engine(kind), 30)
    expect(verdict).toMatchObject({ state: 'failed', reason: expect.stringContaining('lost the job') })
  })
})

describe('what is asked', () => {
  test('service: the published fields by the name of its model there, consents too, and no others', async () => {
    const image_url = dataUrl('png', png(4, 4))
    const asked = call({ image_url, consents: { seedance: agreed } })
    world.server.says(wires.service.submit, wires.service.taken)
    const given = { ...asked, request: { ...asked.request, seed: 7, lora: 'theirs' } }
    await follow(world.engine('service'), 2, given)
    expect(JSON.parse(world.server.seen[0]?.text ?? '')).toEqual({ ...asked.request, model: 'their-model' })
  })

  test.each([
    ['none that is not published, at any depth', [], {}],
    ['those that its operator names', ['seed', 'elements.weights'], { seed: 7, weights: 'x' }],
  ])('service: of further members %s', async (_rule, passMembers, { seed, ...weights }: Record<string, unknown>) => {
    const element = { frontal_image_url: 'https://example.com/a.png' }
    const asked = call({ seed: 7, extra_body: { a: 1 }, elements: [{ ...element, weights: 'x', other: 1 }] })
    world.server.says(wires.service.submit, wires.service.taken)
    await follow(world.engine('service', true, passMembers), 2, asked)
    const plain = { ...call().request, model: 'their-model', elements: [{ ...element, ...weights }] }
    const sent = JSON.parse(world.server.seen[0]?.text ?? '')
    expect(sent).toEqual(seed === undefined ? plain : { ...plain, seed })
  })

  test('openai: a form of its own members, the image as a file', async () => {
    const asked = call({ image_url: dataUrl('png', png(4, 4)), aspect_ratio: '9:16' })
    world.server.says(wires.openai.submit, wires.openai.taken)
    await follow(world.engine('openai'), 2, asked)
    const { text = '', headers = {} } = world.server.seen[0] ?? {}
    expect(headers['content-type']).toMatch(/^multipart\/form-data/)
    for (const [name, value] of [
      ['model', 'their-model'],
      ['prompt', 'a boat'],
      ['seconds', '4'],
      ['size', '720x1280'],
    ]) {
      expect(text).toContain(`name="${name}"\r\n\r\n${value}\r\n`)
    }
    expect(text).toMatch(/name="input_reference"; filename="image\.png"\r\n[Cc]ontent-[Tt]ype: image\/png/)
  })
})
