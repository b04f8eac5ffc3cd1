import { expect, test } from 'vitest'
import { z } from 'zod'
import { withRetry } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { attempts } from '#client/limits.ts'
import { type CallClass, delayOf, retryAtMs } from '#client/retry/retry.ts'
import {
  inferenceFailed,
  insufficientBalance,
  invalidRequest,
  keyInUse,
  ledgerUnreachable,
  modelOffline,
  rateLimitExceeded,
  requestTimeout,
  tooManyConcurrent,
  tooManyFailures,
  unknownError,
} from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { stopped } from '#wallet/rules/decide.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { manualClock } from './manual-clock.ts'

const unreachable = new ClientError('unreachable', 'x', { wasSent: false })
const lost = new ClientError('no-answer', 'x', { wasSent: true })
const unknownAnswer = (status: number) =>
  ({ kind: 'UNKNOWN_ANSWER', status, body: z.unknown(), retry: 'later' }) as const
const breakerOpen = new ClientError('breaker-open', 'x', { wasSent: false, retryAtMs: 1 })

const errors = {
  unreachable,
  lost,
  429: rateLimitExceeded(),
  'too many at once': tooManyConcurrent({ error: 'x', code: 'X402_CONCURRENCY_LIMIT' }),
  503: modelOffline(),
  500: unknownError(),
  504: requestTimeout(),
  '503 of a proxy': new ServiceError(unknownAnswer(503), '<html>'),
  '502 of a proxy': new ServiceError(unknownAnswer(502), '<html>'),
  'a ledger outage': ledgerUnreachable(),
  'failed work': inferenceFailed(),
  'a key in use': keyInUse({ error: 'x', code: 'IDEMPOTENCY_KEY_IN_USE' }),
  400: invalidRequest({ error: 'x' }),
  402: insufficientBalance(),
  '500 that must not be repeated': unknownError({ 'x-should-retry': 'false' }),
  '503 that must not be repeated': modelOffline({ 'x-should-retry': 'false' }),
  breakerOpen,
}

type ErrorName = `${keyof typeof errors}`
/** What is sent again; everything else is sent once. */
const again: Readonly<Record<CallClass, readonly ErrorName[]>> = {
  free: [
    'unreachable',
    'lost',
    '429',
    'too many at once',
    '503',
    '500',
    '504',
    '503 of a proxy',
    '502 of a proxy',
    'a ledger outage',
  ],
  // Only what the service says, or cannot but mean, that it has not begun.
  paid: ['unreachable', '429', 'too many at once', '503'],
  keyed: [
    'unreachable',
    'lost',
    '429',
    'too many at once',
    '503',
    '500',
    '504',
    '503 of a proxy',
    '502 of a proxy',
    'a ledger outage',
    'a key in use',
  ],
  // The wallet itself sends the same payment again.
  payment: [],
}
type Row = [CallClass, ErrorName, 'again' | 'once']
const classes = Object.keys(again) as CallClass[]
const names = Object.keys(errors) as ErrorName[]
const rows = classes.flatMap(callClass =>
  names.map((name): Row => [callClass, name, again[callClass].includes(name) ? 'again' : 'once']),
)

const pauses = () => {
  const waited: number[] = []
  return { waited, pause: async (ms: number) => void waited.push(ms) }
}

test.each(rows)('a %s call after %s is sent %s', async (callClass, name, expected) => {
  let sent = 0
  const run = withRetry(
    async () => {
      sent++
      throw errors[name]
    },
    { callClass, clock: manualClock(), pause: pauses().pause },
  )
  await expect(run).rejects.toBeInstanceOf(Error)
  expect(sent).toBe(expected === 'again' ? attempts : 1)
})

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5)

test('a block without a time is 30 s long', () => {
  expect(retryAtMs(tooManyFailures(), nowMs)).toBe(nowMs + 30_000)
})

test('a wait beyond the budget fails at once, with its time', async () => {
  const { waited, pause } = pauses()
  const error = rateLimitExceeded({ 'retry-after': '100' })
  const run = withRetry(() => Promise.reject(error), {
    callClass: 'free',
    clock: manualClock(),
    budgetMs: 99_000,
    pause,
  })
  await expect(run).rejects.toBe(error)
  expect(waited).toEqual([])
})

test('without a hint the wait is full jitter, doubled to its cap; with one it is never shorter than it', () => {
  const wait = (attempt: number, random: number) => delayOf(errors[500], attempt, nowMs, () => random)
  expect([wait(1, 1), wait(2, 1), wait(3, 1), wait(1, 0), wait(9, 1)]).toEqual([500, 1_000, 2_000, 0, 30_000])
  expect(delayOf(rateLimitExceeded({ 'retry-after': '4' }), 1, nowMs, () => 0)).toBe(4_000)
  expect(delayOf(rateLimitExceeded({ 'retry-after': '4' }), 1, nowMs, () => 1)).toBe(4_400)
})

const switchedOff = new WalletRefusal(stopped)
const unreadable = new Error('The disk is gone.')

type Ending = [last: string, attempts: readonly unknown[], expected: object]
test.each<Ending>([
  ['no connection', [lost, unreachable], { kind: 'no-answer', wasSent: true, cause: unreachable }],
  ['too little credit', [errors['502 of a proxy'], errors[402]], { kind: 'no-answer', wasSent: true }],
  [
    'a limit, with its time',
    [lost, rateLimitExceeded({ 'retry-after': '80' })],
    { kind: 'no-answer', wasSent: true, retryAtMs: nowMs + 80_000 },
  ],
  ['a key in use', [errors['a key in use']], { kind: 'no-answer', wasSent: true }],
  ['no answer again', [lost, lost], { kind: 'no-answer', wasSent: true }],
  ['a wallet that is switched off', [lost, switchedOff], { kind: 'no-answer', wasSent: true, cause: switchedOff }],
  ['records that cannot be read', [lost, unreadable], { kind: 'no-answer', wasSent: true, cause: unreadable }],
])(
  'what a keyed call says after a lost answer is that it may have been done: then %s',
  async (_, attempts, expected) => {
    let sent = 0
    const run = withRetry(
      async () => {
        throw attempts[Math.min(sent++, attempts.length - 1)]
      },
      { callClass: 'keyed', clock: manualClock(nowMs), pause: pauses().pause },
    )
    await expect(run).rejects.toMatchObject(expected)
  },
)

test('a keyed call without a lost answer reports why it was refused', async () => {
  const run = withRetry(() => Promise.reject(errors[402]), { callClass: 'keyed', clock: manualClock() })
  await expect(run).rejects.toBe(errors[402])
})

test('all waits together stay within the budget', async () => {
  const { waited, pause } = pauses()
  const error = rateLimitExceeded({ 'retry-after': '40' })
  const options = { callClass: 'free', clock: manualClock(), budgetMs: 75_000, pause, random: () => 0 } as const
  await expect(withRetry(() => Promise.reject(error), options)).rejects.toBe(error)
  expect(waited).toEqual([40_000])
})

test('an abort ends a wait', async () => {
  const stop = new AbortController()
  const run = withRetry(() => Promise.reject(rateLimitExceeded({ 'retry-after': '30' })), {
    callClass: 'free',
    clock: manualClock(),
    signal: stop.signal,
  })
  setTimeout(() => stop.abort(), 20)
  await expect(run).rejects.toThrow(/abort/i)
})
