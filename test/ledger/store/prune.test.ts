import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  claimRetentionMs,
  limitLogRetentionMs,
  limitLogRows,
  nonceRetentionMs,
  pruneSliceRows,
  unitRetentionMs,
} from '#ledger/bounds.ts'
import { pruneStore } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7Floor } from '#ledger/store/uuid-v7.ts'
import { account, commitOps, grant, hold, limit, mustCommit, nonce } from './sample-ops.ts'
import { openTemporaryStore } from './sqlite-folder.ts'

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
beforeEach(async () => {
  opened = await openTemporaryStore()
})
afterEach(() => opened.dispose())

const day = 24 * 60 * 60 * 1000
/** Far from the times of the units that only build. */
const nowMs = 2_000_000_000_000

const unitAt = (atMs: number, place: number, ...ops: Op[]): Unit => ({ id: `${uuidV7Floor(atMs)}/${place}`, ops })

const claimAt = (id: string, atMs: number): Op => {
  const set = { account: 'ada', request: `request of ${id}`, fingerprint: 'f', answer: '{}' }
  return { op: 'claim', claim: id, from: null, to: 'done', fence: 0, set, atMs }
}

test('old outcomes, expired nonces, old claims and old limit rows go, slice by slice; the rest stays', async () => {
  const { store } = opened
  const many = pruneSliceRows * 2 + 5
  const old = nowMs - unitRetentionMs - 1
  const expired = Array.from({ length: many }, (_, index) =>
    unitAt(old, index, nonce(`old${index}`, nowMs - nonceRetentionMs - 1)),
  )
  await store.commit(expired)
  const fresh = [
    { id: uuidV7Floor(nowMs - unitRetentionMs), ops: [nonce('lives', nowMs - nonceRetentionMs)] },
    unitAt(nowMs, 1, limit('ada', nowMs - limitLogRetentionMs - 1), limit('ada', nowMs - limitLogRetentionMs)),
  ]
  await store.commit(fresh)
  const claims = [claimAt('old', nowMs - claimRetentionMs - 1), claimAt('young', nowMs - claimRetentionMs)]
  await store.commit([unitAt(nowMs, 2, account(), ...claims)])
  expect(await pruneStore(store, nowMs)).toEqual({ units: many, nonces: many, claims: 1, limitRows: 1 })
  expect(await store.read.selectFrom('nonce').select('id').execute()).toEqual([{ id: 'lives' }])
  const units = await store.read.selectFrom('unit').select('id').orderBy('id').execute()
  expect(units.map(({ id }) => id)).toEqual([...fresh.map(({ id }) => id), unitAt(nowMs, 2).id])
  expect(await store.read.selectFrom('claim').select('id').execute()).toEqual([{ id: 'young' }])
  expect(await store.read.selectFrom('claim_answer').select('claim').execute()).toEqual([{ claim: 'young' }])
  expect(await store.read.selectFrom('limit_log').select('created_at_ms').execute()).toHaveLength(1)
  expect(await pruneStore(store, nowMs)).toEqual({ units: 0, nonces: 0, claims: 0, limitRows: 0 })
})

test('the log of met limits keeps its newest rows', async () => {
  const { store } = opened
  await store.commit([unitAt(nowMs, 0, ...Array.from({ length: 10 }, (_, index) => limit(`a${index}`, nowMs)))])
  const slice = { table: 'limit_log', createdBeforeMs: 0, keepNewest: 3 } as const
  expect(await store.prune(slice, 5)).toBe(5)
  expect(await store.prune(slice, 5)).toBe(2)
  const rows = await store.read.selectFrom('limit_log').select('account').orderBy('seq').execute()
  expect(rows.map(row => row.account)).toEqual(['a7', 'a8', 'a9'])
  expect(limitLogRows).toBeGreaterThan(10)
})

test('money, and what guards it, is never pruned', async () => {
  const { store } = opened
  await mustCommit(store, account(), grant(5n, 'once'), hold('h', 1n))
  await mustCommit(store, { op: 'release', hold: 'h' })
  await pruneStore(store, nowMs + 3_650 * day)
  expect(await store.read.selectFrom('unit').select('id').execute()).toEqual([])
  expect(await commitOps(store, hold('h', 1n))).toMatchObject({ why: 'hold_exists' })
  expect(await commitOps(store, grant(5n, 'once'))).toMatchObject({ why: 'ref_exists' })
})
