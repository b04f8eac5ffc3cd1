import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { NeedsConsent } from '#contract/errors/failures.ts'
import { RateLimits } from '#contract/operations/rate-limits.ts'
import { VideoQueued, VideoQuote } from '#contract/operations/video.ts'
import type { EngineState, JobProgress, VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'
import { audit } from '#ledger/audit/audit.ts'
import { FolderMediaStore } from '#media/media-store.ts'
import { expireMedia } from '#service/jobs/finished-media.ts'
import { agreed } from '../agreed.ts'
import { tamperWith } from '../ledger/store/sqlite-folder.ts'
import { type OpenedService, openService, TestClock } from './open-service.ts'

const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const ask = { model: 'demo-video', prompt: 'A lighthouse in fog', duration: '2s', resolution: '360p', audio: false }
/** An engine whose verdicts a test decides. */
class ScriptedVideo implements VideoEngine {
  readonly carries = () => true
  readonly started: string[] = []
  readonly polled: EngineState[] = []
  onStart: (call: VideoCall) => Promise<JobProgress> = async () => ({
    state: 'running',
    engineState: { at: 'engine' },
  })
  verdict: (call: VideoCall) => Promise<JobProgress> = async () => ({
    state: 'running',
    engineState: { at: 'engine' },
  })

  start(call: VideoCall): Promise<JobProgress> {
    this.started.push(call.jobId)
    return this.onStart(call)
  }

  poll(call: VideoCall, engineState: EngineState): Promise<JobProgress> {
    this.polled.push(engineState)
    return this.verdict(call)
  }
}

let opened: OpenedService[] = []
const open = async (...options: Parameters<typeof openService>): Promise<OpenedService> => {
  const service = await openService(...options)
  opened.push(service)
  return service
}

afterEach(async () => {
  for (const service of opened) {
    const report = await audit(service.database)
    expect(report.findings).toEqual([])
    expect(report.driftMicroUsd).toBe(0n)
    await service.close()
  }
  opened = []
})

const queue = async (service: OpenedService, body: object, key: string) =>
  VideoQueued.parse(await (await service.post('/video/queue', body, key)).json())

async function retrieved(service: OpenedService, queued: { model: string; queue_id: string }, key: string) {
  const body = { model: queued.model, queue_id: queued.queue_id }
  const response = await service.post('/video/retrieve', body, key)
  // The limit of a minute is no part of this: on a busy machine a video is asked after more often than it allows.
  service.clock.pass(1_000)
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return { response, json: isJson ? ((await response.json()) as { status?: string; error?: unknown }) : null }
}

/** A job's row may be read a moment before the writer's message with the balance arrives, so refunds are polled for. */
const balance = async (service: OpenedService, key: string): Promise<number> => {
  const response = await service.request('/api/v1/api_keys/rate_limits', {
    headers: { authorization: `Bearer ${key}` },
  })
  return RateLimits.parse(await response.json()).data.balances.USD ?? 0
}

describe('video jobs', () => {
  test('§2.6, §3 queued at its quote, polled, and downloaded as a real MP4', async () => {
    const service = await open()
    const key = await service.key(1)
    const { quote } = VideoQuote.parse(await (await service.post('/video/quote', ask, key)).json())
    const queued = await queue(service, ask, key)
    expect(await balance(service, key)).toBeCloseTo(1 - quote, 6)
    let last = await retrieved(service, queued, key)
    expect(last.json?.status ?? 'PROCESSING').toBe('PROCESSING')
    await expect
      .poll(async () => {
        last = await retrieved(service, queued, key)
        return last.response.headers.get('content-type')
      })
      .toBe('video/mp4')
    const bytes = Buffer.from(await last.response.arrayBuffer())
    expect(bytes.subarray(4, 8).toString()).toBe('ftyp')
  })

  test('§2.7 a download address: JSON status only, then the file in ranges, then revoked', async () => {
    const service = await open()
    const key = await service.key(1)
    const queued = await queue(service, { ...ask, model: 'demo-video-url' }, key)
    const path = new URL(queued.download_url ?? '').pathname + new URL(queued.download_url ?? '').search
    await expect.poll(async () => (await retrieved(service, queued, key)).json?.status).toBe('COMPLETED')
    const whole = await service.request(path)
    const bytes = Buffer.from(await whole.arrayBuffer())
    const range = { range: 'bytes=100-', 'if-range': whole.headers.get('etag') ?? '' }
    const rest = await service.request(path, { headers: range })
    expect([rest.status, rest.headers.get('content-range')]).toEqual([
      206,
      `bytes 100-${bytes.length - 1}/${bytes.length}`,
    ])
    expect(Buffer.from(await rest.arrayBuffer()).equals(bytes.subarray(100))).toBe(true)
    expect(
      (await service.request(path.replace(/signature=(.)/, (_, first) => `signature=${first === '_' ? 'A' : '_'}`)))
        .status,
    ).toBe(404)
    expect((await service.request(path, { method: 'DELETE' })).status).toBe(204)
    expect((await service.request(path)).status).toBe(410)
    expect((await retrieved(service, queued, key)).response.status).toBe(404)
  })

  test('§2.7 a download link expires after 24 hours', async () => {
    const clock = new TestClock()
    const service = await open({ clock })
    const key = await service.key(1)
    const queued = await queue(service, { ...ask, model: 'demo-video-url' }, key)
    clock.pass(24 * 60 * 60 * 1000)
    const { pathname, search } = new URL(queued.download_url ?? '')
    expect((await service.request(pathname + search)).status).toBe(410)
  })

  test('V8 §3.2 an image needs consent, charges nothing, and passes with it', async () => {
    const service = await open()
    const key = await service.key(1)
    const body = { ...ask, image_url: image }
    const refused = await service.post('/video/queue', body, key)
    expect(refused.status).toBe(409)
    const consent = NeedsConsent.parse(await refused.json())
    expect(consent).toMatchObject({ consent_flow: 'demo', face_media_roles: ['image'] })
    expect(consent.consent.policy_text.length).toBeGreaterThan(200)
    expect(await balance(service, key)).toBe(1)
    const passed = await service.post('/video/queue', { ...body, consents: { demo: agreed } }, key)
    expect(passed.status).toBe(200)
  })

  const refusals: [rule: string, body: object, status: number, says: string][] = [
    ['§2.6 no prompt', { ...ask, prompt: undefined }, 400, 'prompt'],
    ['§2.6 no duration', { ...ask, duration: undefined }, 400, 'duration'],
    [
      '§2.6 no duration, with a video that is not upscaled',
      { model: 'demo-video-studio', prompt: 'x', video_url: 'https://x.example/a.mp4' },
      400,
      'demo-video-studio needs a duration; allowed values: 2s, ',
    ],
    ['§2.6 a duration that no model supports', { ...ask, duration: '17s' }, 400, '18s'],
    ['§2.6 a ratio of no model', { ...ask, aspect_ratio: '1:7' }, 400, '16:9'],
    ['§2.6 a prompt beyond the model', { ...ask, prompt: 'x'.repeat(9_999) }, 400, 'prompt'],
    ['§2.6 the same in emoji', { ...ask, prompt: '🚤'.repeat(2_501) }, 400, 'has 2501 characters'],
    [
      '§7.4 audio references alone',
      { ...ask, reference_audio_urls: ['data:audio/wav;base64,AAAA'] },
      400,
      'reference_audio_urls',
    ],
    ['§2.6 ten reference images', { ...ask, reference_image_urls: Array(10).fill(image) }, 400, 'reference_image_urls'],
    [
      '§3.2 half a consent',
      { ...ask, image_url: image, consents: { demo: { ...agreed, confirmed_legal_right: false } } },
      400,
      'confirmed_legal_right',
    ],
    [
      '§3.2 a consent with more in it',
      { ...ask, image_url: image, consents: { demo: { ...agreed, consent_version: 'v1' } } },
      400,
      'consent_version',
    ],
    ['§3.2 a consent for another provider', { ...ask, image_url: image, consents: { other: agreed } }, 400, 'demo'],
    [
      'an address of this machine',
      { ...ask, image_url: 'http://127.0.0.1/image.png', consents: { demo: agreed } },
      400,
      'must be a public address',
    ],
    ['§7 an unknown model', { ...ask, model: 'nothing' }, 404, 'not found'],
    ['§7 a text model', { ...ask, model: 'demo-chat' }, 404, 'not found'],
  ]
  test('§2.6 a prompt of 2,500 emoji has 2,500 characters', async () => {
    const service = await open()
    const response = await service.post('/video/queue', { ...ask, prompt: '🚤'.repeat(2_500) }, await service.key(1))
    expect(response.status).toBe(200)
  })

  test('refusals name the field and cost nothing', async () => {
    const service = await open()
    for (const [rule, body, status, says] of refusals) {
      const key = await service.key(1)
      const response = await service.post('/video/queue', body, key)
      const text = await response.text()
      expect([rule, response.status, text]).toEqual([rule, status, expect.stringContaining(says)])
      expect([rule, await balance(service, key)]).toEqual([rule, 1])
    }
    expect(await service.store.read.selectFrom('job').selectAll().execute()).toEqual([])
  })

  test('V1 §3 a failed job is refunded once, together with its failure', async () => {
    const video = new ScriptedVideo()
    video.verdict = async () => ({ state: 'failed', reason: 'The prompt was refused.', contentPolicy: true })
    const service = await open({ video })
    const key = await service.key(1)
    const queued = await queue(service, ask, key)
    await expect.poll(async () => (await retrieved(service, queued, key)).response.status).toBe(422)
    const { json, response } = await retrieved(service, queued, key)
    expect(json?.error).toMatchObject({ type: 'provider_content_policy', credits_refunded: true })
    expect(response.headers.get('x-service-is-content-violation')).toBe('true')
    await expect.poll(() => balance(service, key)).toBe(1)
  })

  test('V2: an engine that throws has given no verdict', async () => {
    const video = new ScriptedVideo()
    let asked = 0
    video.verdict = async () => {
      asked++
      if (asked < 3) throw new Error('the engine is away')
      return { state: 'failed', reason: 'It came back and could not.' }
    }
    const service = await open({ video })
    const key = await service.key(1)
    const queued = await queue(service, ask, key)
    await expect.poll(async () => (await retrieved(service, queued, key)).response.status).toBe(500)
    expect(asked).toBe(3)
    await expect.poll(() => balance(service, key)).toBe(1)
    // Once for each reason, however often it is polled.
    expect(service.logged.filter(({ level, facts }) => level === 'warn' && 'jobId' in facts)).toHaveLength(1)
  })

  test('a start that failed is started again, and not asked after', async () => {
    const video = new ScriptedVideo()
    video.onStart = async () => {
      if (video.started.length < 3) throw new Error('the engine is away')
      return { state: 'failed', reason: 'It came back and could not.' }
    }
    const service = await open({ video })
    const key = await service.key(1)
    const queued = await queue(service, ask, key)
    await expect.poll(async () => (await retrieved(service, queued, key)).response.status).toBe(500)
    expect([video.started.length, video.polled]).toEqual([3, []])
  })

  test('what was uploaded goes with the job’s end, whatever that is', async () => {
    const inputs = (service: OpenedService) => service.store.read.selectFrom('job_input').selectAll().execute()
    const made = await open()
    const key = await made.key(1)
    const queued = await queue(made, { ...ask, image_url: image, consents: { demo: agreed } }, key)
    await expect
      .poll(async () => (await retrieved(made, queued, key)).response.headers.get('content-type'))
      .toBe('video/mp4')
    expect(await inputs(made)).toEqual([])
    const video = new ScriptedVideo()
    video.verdict = async () => ({ state: 'failed', reason: 'It could not.' })
    const failed = await open({ video })
    const failedKey = await failed.key(1)
    const lost = await queue(failed, { ...ask, image_url: image, consents: { demo: agreed } }, failedKey)
    await expect.poll(async () => (await retrieved(failed, lost, failedKey)).response.status).toBe(500)
    expect(await inputs(failed)).toEqual([])
  })

  test('a job whose input cannot be read fails and is refunded, and holds up no other', async () => {
    const video = new ScriptedVideo()
    const service = await open({ video })
    const key = await service.key(1)
    const queued = await queue(service, ask, key)
    await expect.poll(() => video.started.length).toBe(1)
    await service.service.close()
    await service.store.close()
    tamperWith(service.database, `UPDATE job_input SET input = '{"model":1}'`)
    const next = await openService({
      video,
      folder: service.folder,
      clock: new TestClock(service.clock.now() + 60_000),
    })
    const other = await queue(next, ask, key)
    await expect.poll(async () => (await retrieved(next, queued, key)).response.status).toBe(500)
    expect((await retrieved(next, other, key)).json?.status).toBe('PROCESSING')
    expect((await audit(next.database)).findings).toEqual([])
    await next.close()
    opened = []
    await rm(service.folder, { recursive: true, force: true })
  })

  test('there is nothing to delete before a video is finished, and the answer says so', async () => {
    const service = await open({ video: new ScriptedVideo() })
    const key = await service.key(1)
    const queued = await queue(service, { ...ask, model: 'demo-video-url' }, key)
    const body = { model: queued.model, queue_id: queued.queue_id }
    expect(await (await service.post('/video/complete', body, key)).json()).toEqual({ success: false })
    const { pathname, search } = new URL(queued.download_url ?? '')
    expect((await service.request(pathname + search, { method: 'DELETE' })).status).toBe(404)
  })

  test('a file whose deletion was begun and not ended is deleted by the sweep', async () => {
    const service = await open()
    const key = await service.key(1)
    const queued = await queue(service, ask, key)
    await expect
      .poll(async () => (await retrieved(service, queued, key)).response.headers.get('content-type'))
      .toBe('video/mp4')
    const media = new FolderMediaStore(join(service.folder, 'media'))
    const broken = { delete: () => Promise.reject(new Error('no')) }
    service.clock.pass(25 * 60 * 60 * 1000)
    await expect(expireMedia(service.store, broken, service.clock)).rejects.toThrow('no')
    const name = `${queued.queue_id}.mp4`
    expect(await media.find(name)).not.toBeNull()
    await expireMedia(service.store, media, service.clock)
    expect(await media.find(name)).toBeNull()
    expect(await expireMedia(service.store, media, service.clock)).toBe(0)
  })

  test('jobs survive a restart, and are found again by the next process', async () => {
    const video = new ScriptedVideo()
    const first = await openService({ video })
    const key = await first.key(1)
    const queued = await queue(first, ask, key)
    await expect.poll(() => video.started.length).toBe(1)
    await first.service.close()
    await first.store.close()
    const clock = new TestClock(first.clock.now() + 60_000)
    const second = await open({ folder: first.folder, clock })
    await expect
      .poll(async () => (await retrieved(second, queued, key)).response.headers.get('content-type'))
      .toBe('video/mp4')
  })

  test('S7: another account’s job does not exist', async () => {
    const service = await open({ video: new ScriptedVideo() })
    const owner = await service.key(1)
    const stranger = await service.key(1)
    const queued = await queue(service, ask, owner)
    for (const path of ['/video/retrieve', '/video/complete']) {
      const response = await service.post(path, { model: queued.model, queue_id: queued.queue_id }, stranger)
      expect([path, response.status, await response.json()]).toEqual([path, 400, { error: 'Request ID is invalid.' }])
    }
  })

  test('a charge that the credit does not cover queues nothing', async () => {
    const service = await open({ video: new ScriptedVideo() })
    const key = await service.key(0.001)
    const response = await service.post('/video/queue', ask, key)
    expect(response.status).toBe(402)
    expect(await service.store.read.selectFrom('job').selectAll().execute()).toEqual([])
  })
})

afterAll(() => expect(opened).toEqual([]))
