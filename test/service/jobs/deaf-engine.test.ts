/** An engine that never answers and ignores aborts. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { VideoQueued } from '#contract/operations/video.ts'
import type { JobProgress, VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'
import { audit } from '#ledger/audit/audit.ts'
import { engineAnswerMs, longestJobMs } from '#service/jobs/jobs.ts'
import { type OpenedService, openService, TestClock } from '../open-service.ts'

class DeafVideo implements VideoEngine {
  readonly carries = () => true
  asked = 0
  readonly signals: AbortSignal[] = []
  start = (call: VideoCall) => this.#never(call)
  poll = (call: VideoCall) => this.#never(call)

  #never({ signal }: VideoCall): Promise<JobProgress> {
    this.asked++
    this.signals.push(signal)
    return new Promise(() => undefined)
  }
}

const clock = new TestClock()
let engine: DeafVideo
let service: OpenedService
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  engine = new DeafVideo()
  service = await openService({ clock, video: engine })
})
afterEach(() => {
  vi.useRealTimers()
})

async function queued(): Promise<string> {
  const asked = { model: 'demo-video', prompt: 'Fog', duration: '2s', resolution: '360p', audio: false }
  const answer = await service.post('/video/queue', asked, await service.key(1))
  await expect.poll(() => engine.asked).toBe(1)
  return VideoQueued.parse(await answer.json()).queue_id
}

test('does not keep the service from stopping', async () => {
  await queued()
  await service.close()
})

test('V2: is asked again, and after a day the job has failed and its charge is back', async () => {
  const job = await queued()
  await vi.advanceTimersByTimeAsync(engineAnswerMs)
  await expect.poll(() => engine.asked).toBe(2)
  // What it was asked first has ended for good, and does not go on beside the second.
  expect(engine.signals.map(({ aborted }) => aborted)).toEqual([true, false])
  clock.pass(longestJobMs + 1)
  await vi.advanceTimersByTimeAsync(engineAnswerMs)
  const { read } = service.store
  const refunds = () => read.selectFrom('entry').select('request').where('kind', '=', 'REFUND').execute()
  await expect.poll(refunds).toEqual([{ request: job }])
  expect((await audit(service.database, { clock })).findings).toEqual([])
  await service.close()
})
