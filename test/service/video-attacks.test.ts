/** Jobs of engines that say the same for ever, and of processes that all look after them. */
import { afterEach, expect, test } from 'vitest'
import { VideoQueued } from '#contract/operations/video.ts'
import type { JobProgress } from '#engines/ports/media-engines.ts'
import { audit } from '#ledger/audit/audit.ts'
import { longestJobMs } from '#service/jobs/jobs.ts'
import { closeAll, film, type KeyDesk, openKeyDesk } from './http/idempotency/key-desk.ts'
import { TestClock } from './open-service.ts'

const desks: KeyDesk[] = []
afterEach(async () => {
  const [first] = desks
  if (first) expect((await audit(first.opened.database)).findings).toEqual([])
  await closeAll(desks.splice(0))
})

async function open(options: Parameters<typeof openKeyDesk>[0] = {}): Promise<KeyDesk> {
  const desk = await openKeyDesk(options)
  desks.push(desk)
  return desk
}

const queue = async (desk: KeyDesk, key: string) =>
  VideoQueued.parse(await (await desk.ask(key, { path: '/video/queue', body: film })).json())
const refunds = (desk: KeyDesk) =>
  desk.store.read.selectFrom('entry').select('request').where('kind', '=', 'REFUND').execute()
const jobs = (desk: KeyDesk) => desk.store.read.selectFrom('job').select(['id', 'state']).execute()

test('V2: a job that runs for three hours is neither refunded nor begun again, and then has its verdict', async () => {
  const desk = await open()
  const { queue_id: job } = await queue(desk, await desk.opened.key(1))
  desk.opened.clock.pass(3 * 60 * 60 * 1000)
  const before = desk.video.polls
  await expect.poll(() => desk.video.polls, { timeout: 20_000 }).toBeGreaterThan(before + 1)
  expect([await jobs(desk), await refunds(desk), desk.video.started]).toEqual([
    [{ id: job, state: 'running' }],
    [],
    [job],
  ])
  desk.video.poll = async () => ({ state: 'failed', reason: 'It could not.' })
  await expect.poll(() => refunds(desk), { timeout: 20_000 }).toEqual([{ request: job }])
}, 60_000)

test('V3: one that runs for ever fails after a day, and is refunded once', async () => {
  const desk = await open()
  const key = await desk.opened.key(1)
  const queued = await queue(desk, key)
  await expect.poll(() => desk.video.polls, { timeout: 20_000 }).toBeGreaterThan(0)
  desk.opened.clock.pass(longestJobMs + 1)
  await expect.poll(() => refunds(desk), { timeout: 20_000 }).toEqual([{ request: queued.queue_id }])
  const body = { model: queued.model, queue_id: queued.queue_id }
  const { status } = await desk.ask(key, { path: '/video/retrieve', body })
  expect([status, await jobs(desk)]).toEqual([500, [{ id: queued.queue_id, state: 'failed' }]])
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
