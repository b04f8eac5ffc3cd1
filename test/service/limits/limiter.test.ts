import { afterEach, beforeEach, expect, test } from 'vitest'
import { RateLimitLog } from '#contract/rate-limits.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { Principal } from '#service/callers/principal.ts'
import { LimitLog, readLimitLog } from '#service/limits/limit-log.ts'
import type { LimitedRequest } from '#service/limits/limit-rules.ts'
import { Limiter } from '#service/limits/limiter.ts'
import { Windows } from '#service/limits/windows.ts'
import type { Store } from '#service/store/store.ts'
import { openTemporaryStore } from '../store/sqlite-folder.ts'
import { ManualClock, noonMs } from './manual-clock.ts'

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
let store: Store
let clock: ManualClock
let failures: unknown[]
let limiter: Limiter
let log: LimitLog

beforeEach(async () => {
  opened = await openTemporaryStore()
  store = opened.store
  clock = new ManualClock(noonMs)
  failures = []
  log = new LimitLog({ store, clock, onFailure: error => failures.push(error) })
  limiter = new Limiter({ store: new Windows(), clock, log })
})

afterEach(() => opened.dispose())

const ada: Principal = { kind: 'key', account: 'ada', keyId: 'k1', plan: 'default' }
const bob: Principal = { kind: 'wallet', account: 'bob', wallet: '0xb0b', plan: 'default', isNew: false }

const chat = (changes: Partial<LimitedRequest> = {}): LimitedRequest => ({
  limit: 'text',
  model: 'large',
  tier: 'L',
  principal: ada,
  address: '192.0.2.1',
  ...changes,
})

async function admitTimes(times: number, request: LimitedRequest, tokens = 0) {
  const outcomes = await Promise.allSettled(Array.from({ length: times }, () => limiter.admit(request, tokens)))
  return {
    admitted: outcomes.filter(({ status }) => status === 'fulfilled').length,
    refusals: outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason as ServiceError] : [])),
  }
}

/** Rows of the log, once the store has taken all that was sent before. */
async function logRows(account: string) {
  await store.commit([])
  await expect.poll(async () => (await readLimitLog(store, account)).data.length).toBeGreaterThan(0)
  return (await readLimitLog(store, account)).data
}

test('§8.1: a minute of tier L lets 20 requests in; the others get 429 with every header', async () => {
  const { admitted, refusals } = await admitTimes(60, chat(), 10)
  expect(admitted).toBe(20)
  expect(refusals[0]).toBeInstanceOf(ServiceError)
  expect(refusals[0]).toMatchObject({ status: 429, body: { error: 'Rate limit exceeded' } })
  expect(Object.keys(refusals[0]?.headers ?? {}).sort()).toEqual([
    'retry-after',
    'x-ratelimit-limit-requests',
    'x-ratelimit-limit-tokens',
    'x-ratelimit-remaining-requests',
    'x-ratelimit-remaining-tokens',
    'x-ratelimit-reset-requests',
    'x-ratelimit-reset-tokens',
    'x-ratelimit-type',
  ])
})

test('top-up: ten a minute and address', async () => {
  const topUp = chat({ limit: 'top-up', model: null, tier: null, principal: null })
  expect((await admitTimes(30, topUp)).admitted).toBe(10)
  expect((await admitTimes(30, { ...topUp, address: '192.0.2.2' })).admitted).toBe(10)
})

test('tokens are corrected once, however often they are told', async () => {
  const { tokensUsed } = await limiter.admit(chat(), 400_000)
  await tokensUsed(100_000)
  await tokensUsed(0)
  expect((await limiter.admit(chat())).headers).toMatchObject({ 'x-ratelimit-remaining-tokens': '400000' })
})

test('the log has one row a minute, account, model and type, however many were refused', async () => {
  await admitTimes(500, chat())
  await admitTimes(60, chat({ principal: bob }))
  clock.advance(60_000)
  await admitTimes(2, chat(), 300_000)
  await expect.poll(() => logRows('ada')).toHaveLength(2)
  const rows = await logRows('ada')
  expect(rows).toEqual([
    {
      apiKeyId: 'k1',
      modelId: 'large',
      rateLimitTier: 'L',
      rateLimitType: 'TPM',
      timestamp: '2026-03-01T12:01:00.000Z',
    },
    {
      apiKeyId: 'k1',
      modelId: 'large',
      rateLimitTier: 'L',
      rateLimitType: 'RPM',
      timestamp: '2026-03-01T12:00:00.000Z',
    },
  ])
  expect(await logRows('bob')).toMatchObject([{ apiKeyId: 'bob' }])
  expect(failures).toEqual([])
})

test('the log shows the last 50, newest first, in the shape of the contract', async () => {
  for (let minute = 0; minute < 60; minute++) {
    await log.note({ account: 'ada', key: 'k1', model: `m${minute}`, tier: 'S', type: 'FAILED_REQUESTS' })
    clock.advance(60_000)
  }
  const shown = RateLimitLog.parse(await readLimitLog(store, 'ada'))
  expect(shown.data).toHaveLength(50)
  expect(shown.data[0]?.modelId).toBe('m59')
  expect(await readLimitLog(store, 'eve')).toEqual({ object: 'list', data: [] })
})

test('a row that cannot be written is told, and costs nobody an answer', async () => {
  await store.close()
  expect((await admitTimes(21, chat())).admitted).toBe(20)
  await expect.poll(() => failures).toHaveLength(1)
})

test('an address has no account to log for', async () => {
  const reading = chat({ limit: 'read', model: null, tier: null, principal: null })
  expect((await admitTimes(501, reading)).refusals).toHaveLength(1)
  expect(await readLimitLog(store, '192.0.2.1')).toEqual({ object: 'list', data: [] })
})
