/** Jobs whose engine always reports the same state, and jobs that several processes poll. */
import { afterEach, expect, test } from 'vitest'
import { VideoQueued } from '#contract/operations/video.ts'
import type { JobProgress } from '#engines/ports/media-engines.ts'
import { audit } from '#ledger/audit/audit.ts'
import { longestJobMs } from '#service/jobs/jobs.ts'
import { clip, closeAll, type KeyFixture, openKeyFixture } from './http/idempotency/key-fixture.ts'
import { TestClock } from './open-service.ts'

const fixtures: KeyFixture[] = []
afterEach(async () => {
  const [first] = fixtures
  if (first) expect((await audit(first.opened.database)).findings).toEqual([])
  await closeAll(fixtures.splice(0))
})

async function open(options: Parameters<typeof openKeyFixture>[0] = {}): Promise<KeyFixture> {
  const fixture = await openKeyFixture(options)
  fixtures.push(fixture)
  return fixture
}

const queue = async (fixture: KeyFixture, key: string) =>
  VideoQueued.parse(await (await fixture.ask(key, { path: '/video/queue', body: clip })).json())
const refunds = (fixture: KeyFixture) =>
  fixture.store.read.selectFrom('entry').select('request').where('kind', '=', 'REFUND').execute()
const jobs = (fixture: KeyFixture) => fixture.store.read.selectFrom('job').select(['id', 'state']).execute()

test('V2: a job that runs for three hours is neither refunded nor begun again, and then has its verdict', async () => {
  const fixture = await open()
  const { queue_id: job } = await queue(fixture, await fixture.opened.key(1))
  fixture.opened.clock.pass(3 * 60 * 60 * 1000)
  const before = fixture.video.polls
  await expect.poll(() => fixture.video.polls, { timeout: 20_000 }).toBeGreaterThan(before + 1)
  expect([await jobs(fixture), await refunds(fixture), fixture.video.started]).toEqual([
    [{ id: job, state: 'running' }],
    [],
    [job],
  ])
  fixture.video.poll = async () => ({ state: 'failed', reason: 'It could not.' })
  await expect.poll(() => refunds(fixture), { timeout: 20_000 }).toEqual([{ request: job }])
}, 60_000)

test('V3: one that never ends fails after a day, and is refunded once', async () => {
  const fixture = await open()
  const key = await fixture.opened.key(1)
  const queued = await queue(fixture, key)
  await expect.poll(() => fixture.video.polls, { timeout: 20_000 }).toBeGreaterThan(0)
  fixture.opened.clock.pass(longestJobMs + 1)
  await expect.poll(() => refunds(fixture), { timeout: 20_000 }).toEqual([{ request: queued.queue_id }])
  const body = { model: queued.model, queue_id: queued.queue_id }
  const { status } = await fixture.ask(key, { path: '/video/retrieve', body })
  expect([status, await jobs(fixture)]).toEqual([500, [{ id: queued.queue_id, state: 'failed' }]])
}, 60_000)

test('V5: of two processes one asks the engine, and one ends the job, whichever it is', async () => {
  const clock = new TestClock()
  const first = await open({ soleOwner: false, clock })
  const second = await open({ soleOwner: false, clock, beside: first })
  const key = await first.opened.key(10)
  const queued: string[] = []
  for (let index = 0; index < 24; index++) queued.push((await queue(index % 2 ? first : second, key)).queue_id)
  const started = () => [...first.video.started, ...second.video.started].sort()
  await expect.poll(started, { timeout: 20_000 }).toEqual([...queued].sort())
  const verdict = async (): Promise<JobProgress> => ({ state: 'failed', reason: 'It could not.' })
  for (const { video } of [first, second]) video.poll = verdict
  const given = async () => (await refunds(first)).map(({ request }) => request).sort()
  await expect.poll(given, { timeout: 30_000 }).toEqual([...queued].sort())
  expect(started()).toEqual([...queued].sort())
}, 90_000)
