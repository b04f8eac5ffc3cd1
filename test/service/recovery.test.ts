import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { VideoEngine } from '#engines/ports/media-engines.ts'
import { audit } from '#ledger/audit/audit.ts'
import { recoveryIntervalMs } from '#ledger/bounds.ts'
import { lapsedForMs, recoverHolds, recoverHoldsAtStart } from '#ledger/charges/recover-holds.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { freeDeadJobs } from '#service/jobs/lease.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { type OpenedService, type OpenServiceOptions, openService, TestClock } from './open-service.ts'

let folder: string
let clock: TestClock
let service: OpenedService
beforeEach(() => {
  folder = temporaryFolder('recovery')
  clock = new TestClock()
})
afterEach(() => service.close())

const running: VideoEngine = {
  carries: () => true,
  start: async () => ({ state: 'running', engineState: { at: 'engine' } }),
  poll: async () => ({ state: 'running', engineState: { at: 'engine' } }),
}
const open = async (options: OpenServiceOptions = {}) => {
  service = await openService({ folder, clock, video: running, ...options })
}
const holdId = uuidV7(Date.now())
const jobId = uuidV7(Date.now())

/** A process that was killed a moment ago, with a call and a video under way; their leases run for half a minute yet. */
async function killed(): Promise<void> {
  await open()
  const { store } = service
  await service.key(1)
  const { account } = await store.read.selectFrom('api_key').select('account').executeTakeFirstOrThrow()
  const atMs = clock.now()
  const lease = { owner: 'a dead process', untilMs: atMs + 30_000 }
  const input = JSON.stringify({ model: 'demo-video', prompt: 'Fog', duration: '2s' })
  const set = { account, model: 'demo-video', request: jobId, input, lease }
  const paid = { op: 'hold', hold: jobId, account, amount: microUsd(1), lease, atMs } as const
  const line = { sku: 'video', units: 1n, unitPricePicoUsd: 1_000_000n, amount: microUsd(1) }
  const ops: Op[] = [
    { op: 'hold', hold: holdId, account, amount: microUsd(400_000), lease, atMs },
    paid,
    { op: 'capture', hold: jobId, request: jobId, model: 'demo-video', lines: [line], atMs },
    { op: 'job', job: jobId, from: null, to: 'queued', fence: 0, set, atMs },
  ]
  const outcomes = await store.commit(ops.map(op => ({ id: uuidV7(atMs), ops: [op] })))
  expect(outcomes.map(outcome => outcome.ok)).toEqual([true, true, true, true])
}

const holds = () => service.store.read.selectFrom('hold').select('id').execute()
const job = () => service.store.read.selectFrom('job').selectAll().executeTakeFirstOrThrow()

test('a folder that was killed with work under way takes it up at its next start, whatever its leases say', async () => {
  await killed()
  await service.service.close()
  await service.store.close()
  await open()
  expect(await holds()).toEqual([])
  await expect.poll(async () => (await job()).state).toBe('running')
  expect((await audit(service.database)).findings).toEqual([])
})

test('where others write too, a start leaves what others may renew, and a look what a live lease covers', async () => {
  await killed()
  const shared: Store = { ...service.store, soleOwner: false }
  const before = await job()
  expect(await recoverHoldsAtStart(shared, clock, 'the next process')).toBe(0)
  expect(await recoverHolds(shared, clock)).toBe(0)
  await freeDeadJobs({ store: shared, clock, owner: 'the next process' })
  expect(await holds()).toEqual([{ id: holdId }])
  expect(await job()).toEqual(before)
  clock.pass(30_001)
  expect(await recoverHoldsAtStart(shared, clock, 'the next process')).toBe(0)
  expect(await recoverHolds(shared, clock)).toBe(1)
})

test('a start never frees what is its own', async () => {
  await killed()
  const before = await job()
  expect(await recoverHoldsAtStart(service.store, clock, 'a dead process')).toBe(0)
  await freeDeadJobs({ store: service.store, clock, owner: 'a dead process' })
  expect([await holds(), await job()]).toEqual([[{ id: holdId }], before])
})

test.each([
  ['lives and renews', true, 1],
  ['is dead', false, 0],
])('a start right after an outage gives a sibling its time: one that %s', async (_what, lives, left) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  await killed()
  await service.service.close()
  await service.store.close()
  clock.pass(60_000)
  await open({ storeBefore: real => ({ ...real, read: real.read, soleOwner: false }) })
  expect(await holds()).toEqual([{ id: holdId }])
  const lease = { owner: 'a dead process', untilMs: clock.now() + 30_000 }
  const renewal: Op = { op: 'renew', hold: holdId, lease }
  if (lives) await service.store.commit([{ id: uuidV7(clock.now()), ops: [renewal] }])
  for (let passedMs = 0; passedMs < lapsedForMs; passedMs += recoveryIntervalMs) {
    clock.pass(recoveryIntervalMs)
    await vi.advanceTimersByTimeAsync(recoveryIntervalMs)
    // What the look has sent is there once this is.
    await service.key(1)
  }
  expect(await holds()).toHaveLength(left)
  vi.useRealTimers()
})
