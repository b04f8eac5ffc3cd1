/** An engine that takes longer to answer than a lease lasts, such as one that is sent a large video. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { JobProgress, VideoCall } from '#engines/ports/media-engines.ts'
import { FolderMediaStore } from '#media/media-store.ts'
import { jobLeaseMs, jobRenewalMs } from '#service/jobs/jobs.ts'
import { LeaseLost } from '#service/jobs/lease.ts'
import { closeAll, gate, type KeyFixture, openKeyFixture } from '../http/idempotency/key-fixture.ts'

let first: KeyFixture
let second: KeyFixture
let calls: VideoCall[]
let answered: ReturnType<typeof gate>
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  first = await openKeyFixture({ soleOwner: false })
  second = await openKeyFixture({ soleOwner: false, beside: first })
  calls = []
  answered = gate()
  first.video.start = async (call): Promise<JobProgress> => {
    calls.push(call)
    await answered.until
    return { state: 'running', engineState: { at: 'engine' } }
  }
  await first.ask(await first.opened.key(10), { path: '/video/queue' })
  await expect.poll(() => calls.length).toBe(1)
})
afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  answered.open()
  await closeAll([first, second])
})

/** Both processes look for jobs every second, and renew their leases. */
async function pass(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += jobRenewalMs) {
    first.opened.clock.pass(jobRenewalMs + 1)
    await vi.advanceTimersByTimeAsync(jobRenewalMs)
    // What a search has asked for is done once this is.
    await second.opened.key(1)
  }
}

test('is sent a job by one process alone', async () => {
  await pass(3 * jobLeaseMs)
  expect([calls.length, second.video.started, second.video.polls]).toEqual([1, [], 0])
  answered.open()
  await expect.poll(() => first.video.polls, { timeout: 20_000 }).toBeGreaterThan(0)
})

test('is not waited for by a process that lost the job to another', async () => {
  // This process is paused for longer than its lease.
  first.opened.clock.pass(jobLeaseMs + 1)
  await vi.advanceTimersByTimeAsync(1_000)
  await expect.poll(() => second.video.started.length).toBe(1)
  await pass(jobRenewalMs)
  await expect.poll(() => calls[0]?.signal.reason).toBeInstanceOf(LeaseLost)
})

test('is sent a job by one process alone, even if the media store was slow to report that it has no file yet', async () => {
  const found = gate()
  vi.spyOn(FolderMediaStore.prototype, 'find').mockImplementationOnce(() => found.until.then(() => null))
  await first.ask(await first.opened.key(10), { path: '/video/queue' })
  await expect.poll(() => vi.mocked(FolderMediaStore.prototype.find).mock.calls.length).toBe(1)
  await pass(3 * jobLeaseMs)
  found.open()
  await expect.poll(() => calls.length).toBe(2)
  expect(second.video.started).toEqual([])
})

test('nor does such a media store keep the service from stopping', async () => {
  const found = vi.spyOn(FolderMediaStore.prototype, 'find').mockReturnValue(new Promise(() => undefined))
  await first.ask(await first.opened.key(10), { path: '/video/queue' })
  await expect.poll(() => found.mock.calls.length).toBeGreaterThan(0)
  await first.opened.service.close()
})
