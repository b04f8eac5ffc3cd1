import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { VideoQueued } from '#contract/operations/video.ts'
import type { VideoEngine } from '#engines/ports/media-engines.ts'
import { videoModel } from './models/example-models.ts'
import { type OpenedService, openService } from './open-service.ts'

const bytes = Buffer.from('0000ftypisom the bytes of a film')
const size = bytes.length

let service: OpenedService
let isReady = true
const running = { state: 'running' as const, engineState: {} }
const engine: VideoEngine = {
  carries: () => true,
  start: async () => running,
  async poll({ jobId }) {
    if (!isReady) return running
    const path = join(service.folder, `${jobId}.mp4`)
    await writeFile(path, bytes)
    return { state: 'completed', path, mimeType: 'video/mp4' }
  },
}

beforeAll(async () => {
  service = await openService({
    models: () => [videoModel({ id: 'film', engine, consent: null, delivery: 'download_url' })],
  })
})
afterAll(() => service.close())
beforeEach(() => {
  isReady = true
  // Refusals of an earlier test block no caller.
  service.clock.pass(60_000)
})

interface TestVideo {
  path: string
  key: string
  ask: { model: string; queue_id: string }
}

async function queued(): Promise<TestVideo> {
  const key = await service.key(5)
  const response = await service.post('/video/queue', { model: 'film', prompt: 'a boat', duration: '2s' }, key)
  const { model, queue_id, download_url = '' } = VideoQueued.parse(await response.json())
  const { pathname, search } = new URL(download_url)
  return { path: pathname + search, key, ask: { model, queue_id } }
}

const retrieve = ({ ask, key }: TestVideo, more: object = {}) =>
  service.post('/video/retrieve', { ...ask, ...more }, key)

async function finished(): Promise<TestVideo> {
  const video = await queued()
  const status = async () => ((await (await retrieve(video)).json()) as { status: string }).status
  await expect.poll(status, { timeout: 10_000 }).toBe('COMPLETED')
  return video
}

const got = async (path: string, headers: Record<string, string> = {}) => {
  const response = await service.request(path, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('a range (RFC 9110)', () => {
  let video: TestVideo | null = null
  let etag = ''
  /** One for all rows; a poll needs a test around it. */
  const theVideo = async () => {
    video ??= await finished()
    etag ||= (await got(video.path)).headers.get('etag') ?? ''
    return video
  }
  const whole = bytes.toString()
  const rules: [
    rule: string,
    headers: () => Record<string, string>,
    status: number,
    text: string,
    range: string | null,
  ][] = [
    ['none', () => ({}), 200, whole, null],
    ['from a byte on', () => ({ range: 'bytes=4-' }), 206, whole.slice(4), `bytes 4-${size - 1}/${size}`],
    ['between two', () => ({ range: 'bytes=4-7' }), 206, 'ftyp', `bytes 4-7/${size}`],
    ['the last ones', () => ({ range: 'bytes=-4' }), 206, 'film', `bytes ${size - 4}-${size - 1}/${size}`],
    ['more than there are at the end', () => ({ range: 'bytes=-999' }), 206, whole, `bytes 0-${size - 1}/${size}`],
    ['beyond the end', () => ({ range: 'bytes=4-999' }), 206, whole.slice(4), `bytes 4-${size - 1}/${size}`],
    ['if it is this file', () => ({ range: 'bytes=4-7', 'if-range': etag }), 206, 'ftyp', `bytes 4-7/${size}`],
    ['if it is another', () => ({ range: 'bytes=4-7', 'if-range': '"other"' }), 200, whole, null],
    ['a weak tag is not a proof', () => ({ range: 'bytes=4-7', 'if-range': `W/${etag}` }), 200, whole, null],
    ['several', () => ({ range: 'bytes=0-1,4-7' }), 200, whole, null],
    ['another unit', () => ({ range: 'lines=0-1' }), 200, whole, null],
    ['nothing said', () => ({ range: 'bytes=-' }), 200, whole, null],
  ]
  test.each(rules)('%s', async (_rule, headers, status, text, range) => {
    const { path } = await theVideo()
    const answer = await got(path, headers())
    expect([answer.status, answer.text, answer.headers.get('content-range')]).toEqual([status, text, range])
    expect(answer.headers.get('etag')).toBe(etag)
    expect(answer.headers.get('accept-ranges')).toBe('bytes')
  })

  test.each([
    ['behind the end', `bytes=${size}-`],
    ['backwards', 'bytes=7-4'],
    ['none of the end', 'bytes=-0'],
  ])('refused: %s', async (_rule, range) => {
    const answer = await got((await theVideo()).path, { range })
    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, `bytes */${size}`])
  })

  test.each(['bytes=4-7', 'bytes=7-4'])('HEAD ignores %s', async range => {
    const { path } = await theVideo()
    const { status, headers } = await service.request(path, { method: 'HEAD', headers: { range } })
    expect([status, headers.get('content-length'), headers.get('content-range')]).toEqual([200, `${size}`, null])
  })
})

describe('an address (§2.7)', () => {
  test('before the video is finished there is nothing to fetch or revoke', async () => {
    isReady = false
    const video = await queued()
    expect((await got(video.path)).status).toBe(404)
    expect((await service.request(video.path, { method: 'DELETE' })).status).toBe(404)
  })

  test('no byte of it may differ', async () => {
    const { path } = await finished()
    for (const other of [
      path.replace(/signature=../, 'signature=__'),
      path.replace(/expires=./, 'expires=9'),
      path.replace(/&signature=.*/, ''),
      path.replace(/downloads\/.{8}/, 'downloads/00000000'),
    ]) {
      expect([other === path, (await got(other)).status]).toEqual([false, 404])
      expect((await service.request(other, { method: 'DELETE' })).status).toBe(404)
    }
    expect((await got(path)).status).toBe(200)
  })

  test('once revoked it is gone, for polling too, and revoking again is the same', async () => {
    const video = await finished()
    for (const status of [204, 204]) {
      expect((await service.request(video.path, { method: 'DELETE' })).status).toBe(status)
    }
    expect((await got(video.path)).status).toBe(410)
    expect((await retrieve(video)).status).toBe(404)
  })

  test('asked for without end it is 429 with the time to try again in a moment, and not for others', async () => {
    const video = await finished()
    const statuses: number[] = []
    for (let asked = 0; asked < 61; asked++) statuses.push((await got(video.path, { range: 'bytes=0-0' })).status)
    expect(new Set(statuses.slice(0, 60))).toEqual(new Set([206]))
    const refused = await got(video.path)
    expect([statuses[60], refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, 429, 60])
    const again = Math.ceil(service.clock.now() / 1_000) + 60
    expect(Number(refused.headers.get('x-ratelimit-reset-requests'))).toBe(again)
    expect((await got((await finished()).path)).status).toBe(200)
    service.clock.pass(60_000)
    expect((await got(video.path)).status).toBe(200)
  })
})

describe('delete_media_on_completion with an address', () => {
  const gone = (video: TestVideo) => async () => (await got(video.path, { range: 'bytes=0-0' })).status
  const last = size - 1
  const orders: [rule: string, rounds: string[][]][] = [
    ['in one answer', [['']]],
    ['as one range', [['bytes=0-']]],
    ['in two ranges', [['bytes=0-7'], ['bytes=8-']]],
    ['the last range first', [[`bytes=${last}-`], ['bytes=-4'], [`bytes=0-${last - 1}`]]],
    ['ranges that overlap, with a hole until the end', [['bytes=-9'], ['bytes=0-9'], ['bytes=4-7'], ['bytes=8-']]],
    ['ranges at the same time', [['bytes=20-', 'bytes=0-9'], ['bytes=10-19']]],
    ['the last range, and then all of it', [['bytes=-1'], ['']]],
  ]
  test.each(orders)('the file goes once all of it has left, and not before: %s', async (_rule, rounds) => {
    const video = await finished()
    expect((await retrieve(video, { delete_media_on_completion: true })).status).toBe(200)
    for (const round of rounds) {
      const answers = await Promise.all(round.map(range => got(video.path, range ? { range } : {})))
      // Whatever went before, nothing that is still missing is lost.
      expect(answers.map(({ status }) => status)).toEqual(round.map(range => (range ? 206 : 200)))
    }
    await expect.poll(gone(video)).toBe(410)
  })

  test('a reader that left early has had nothing', async () => {
    const video = await finished()
    await retrieve(video, { delete_media_on_completion: true })
    const left = await service.request(video.path)
    await left.body?.cancel()
    expect((await got(video.path, { range: 'bytes=-1' })).status).toBe(206)
    expect((await got(video.path)).text).toBe(bytes.toString())
  })

  test('repeated, it has the same effect, and deletes no other account’s file', async () => {
    const [video, other] = [await finished(), await finished()]
    await Promise.all([1, 2].map(() => retrieve(video, { delete_media_on_completion: true })))
    expect((await got(video.path)).status).toBe(200)
    await expect.poll(gone(video)).toBe(410)
    expect([(await got(other.path)).status, (await got(other.path)).status]).toEqual([200, 200])
  })
})
