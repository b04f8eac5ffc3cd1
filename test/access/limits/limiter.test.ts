import { beforeEach, expect, test } from 'vitest'
import type { LimitedRequest } from '#access/limits/limit-rules.ts'
import { Limiter } from '#access/limits/limiter.ts'
import { Windows } from '#access/limits/windows.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { ManualClock, noonMs } from './manual-clock.ts'

let clock: ManualClock
let limiter: Limiter

beforeEach(() => {
  clock = new ManualClock(noonMs)
  limiter = new Limiter({ store: new Windows(), clock })
})

const ada: Principal = { kind: 'key', account: 'ada', keyId: 'k1', plan: 'default' }

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

test('tokens are corrected once, however often they are reported', async () => {
  const { tokensUsed } = await limiter.admit(chat(), 400_000)
  await tokensUsed(100_000)
  await tokensUsed(0)
  expect((await limiter.admit(chat())).headers).toMatchObject({ 'x-ratelimit-remaining-tokens': '400000' })
})
