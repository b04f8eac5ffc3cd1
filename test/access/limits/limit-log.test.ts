import { afterEach, beforeEach, expect, test } from 'vitest'
import { LimitLog, type MetLimit } from '#access/limits/limit-log.ts'
import { loggedRowsPerCommit } from '#access/limits/limit-rules.ts'
import { rateLimitLogRows } from '#contract/limits.ts'
import { RateLimitLog } from '#contract/operations/rate-limits.ts'
import type { Store } from '#ledger/store/store.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'
import { ManualClock, noonMs } from './manual-clock.ts'

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
let store: Store
let clock: ManualClock
let failures: unknown[]
/** Rows of each commit. */
let commits: number[]
/** Commits once, and then only when it is told to. */
let log: LimitLog

beforeEach(async () => {
  opened = await openTemporaryStore()
  commits = []
  const counted: Pick<Store, 'commit' | 'read'> = {
    read: opened.store.read,
    commit: units => {
      commits.push(units.length)
      return opened.store.commit(units)
    },
  }
  store = counted as Store
  clock = new ManualClock(noonMs)
  failures = []
  log = new LimitLog({ store, clock, onFailure: error => failures.push(error), commitMs: 60_000 })
})

afterEach(() => opened.dispose())

const hit = (changes: Partial<MetLimit> = {}): MetLimit => ({
  account: 'ada',
  key: 'k1',
  model: 'large',
  tier: 'L',
  type: 'RPM',
  ...changes,
})

const rows = async (account: string) => RateLimitLog.parse(await log.read(account)).data

test('§11.2 every hit is a row, newest first, in the shape of the contract', async () => {
  for (const type of ['RPM', 'RPM', 'TPM'] as const) {
    log.note(hit({ type }))
    clock.advance(1)
  }
  await log.flush()
  expect((await rows('ada')).map(({ rateLimitType }) => rateLimitType)).toEqual(['TPM', 'RPM', 'RPM'])
  expect((await rows('ada'))[0]).toEqual({
    apiKeyId: 'k1',
    modelId: 'large',
    rateLimitTier: 'L',
    rateLimitType: 'TPM',
    timestamp: '2026-03-01T12:00:00.002Z',
  })
  expect(await rows('eve')).toEqual([])
})

test('§11.2 an account keeps its newest 50, in memory and in the store, and others keep theirs', async () => {
  log.note(hit({ account: 'bob', key: null }))
  for (let round = 0; round < 2; round++) {
    for (let each = 0; each < 200; each++) log.note(hit({ model: `m${round}-${each}` }))
    await log.flush()
  }
  const newest = Array.from({ length: rateLimitLogRows }, (_, at) => `m1-${199 - at}`)
  expect((await rows('ada')).map(({ modelId }) => modelId)).toEqual(newest)
  expect(await rows('bob')).toMatchObject([{ apiKeyId: 'bob' }])
  expect(await opened.store.read.selectFrom('limit_log').select('seq').execute()).toHaveLength(rateLimitLogRows + 1)
})

test('a flood of hits is one commit at once, and then one a second', async () => {
  for (let each = 0; each < 5_000; each++) log.note(hit({ account: `a${each % 40}` }))
  await expect.poll(() => commits).toEqual([1])
  await log.flush()
  expect(commits[0]).toBe(1)
  expect(Math.max(...commits)).toBeLessThanOrEqual(loggedRowsPerCommit)
  expect(await opened.store.read.selectFrom('limit_log').select('seq').execute()).toHaveLength(40 * rateLimitLogRows)
})

test('a reader gets every earlier row, written or not', async () => {
  log = new LimitLog({ store, clock, onFailure: error => failures.push(error), commitMs: 50 })
  for (let each = 0; each < 3; each++) log.note(hit({ model: `m${each}` }))
  expect((await rows('ada')).map(({ modelId }) => modelId)).toEqual(['m2', 'm1', 'm0'])
})

test('rows that cannot be written are reported, and the next ones are written', async () => {
  const { commit } = opened.store
  opened.store.commit = () => Promise.reject(new Error('The disk is full.'))
  log.note(hit())
  await expect.poll(() => failures).toHaveLength(1)
  opened.store.commit = commit.bind(opened.store)
  log.note(hit({ model: 'later' }))
  await log.flush()
  expect((await rows('ada')).map(({ modelId }) => modelId)).toEqual(['later'])
})
