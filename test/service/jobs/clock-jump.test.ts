/** A process whose clock has jumped takes over no jobs, and gives up none because of its age. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { jobLeaseMs, longestJobMs, searchIntervalMs } from '#service/jobs/jobs.ts'
import { closeAll, type KeyFixture, openKeyFixture } from '../http/idempotency/key-fixture.ts'
import { TestClock } from '../open-service.ts'

let fixtures: KeyFixture[]
beforeEach(() => {
  fixtures = []
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await closeAll(fixtures)
})

async function open(options: Parameters<typeof openKeyFixture>[0]): Promise<KeyFixture> {
  const fixture = await openKeyFixture({ soleOwner: false, ...options })
  fixtures.push(fixture)
  return fixture
}

/** One process that follows a job, which was paid. */
async function following(): Promise<KeyFixture> {
  const first = await open({})
  const queued = await first.ask(await first.opened.key(10), { path: '/video/queue' })
  expect(queued.status).toBe(200)
  await expect.poll(() => first.video.polls).toBeGreaterThan(0)
  return first
}

const job = (fixture: KeyFixture) =>
  fixture.store.read.selectFrom('job').select(['state', 'lease_owner']).executeTakeFirstOrThrow()

test('the lease of another has not lapsed by a clock that jumped', async () => {
  const first = await following()
  const { lease_owner: owner } = await job(first)
  const second = await open({ beside: first, clock: new TestClock() })
  second.opened.clock.pass(jobLeaseMs + 1)
  second.store.differenceMs = jobLeaseMs + 1
  const search = async () => {
    await vi.advanceTimersByTimeAsync(searchIntervalMs)
    // What the search has asked for is done once this is.
    await second.opened.key(1)
  }
  await search()
  expect(await job(first)).toEqual({ state: 'running', lease_owner: owner })
  second.store.differenceMs = 0
  await search()
  await expect.poll(async () => (await job(first)).lease_owner).not.toBe(owner)
})

test('nor is a job too old by it; by one that agrees it is, and is given back', async () => {
  const first = await following()
  first.store.differenceMs = longestJobMs
  first.opened.clock.pass(longestJobMs + 1)
  const before = first.video.polls
  await expect.poll(() => first.video.polls, { timeout: 20_000 }).toBeGreaterThan(before + 1)
  expect((await job(first)).state).toBe('running')
  first.store.differenceMs = 0
  await expect.poll(async () => (await job(first)).state, { timeout: 20_000 }).toBe('failed')
}, 60_000)
