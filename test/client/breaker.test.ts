import { expect, test } from 'vitest'
import { Breaker, memoryBreakerStore } from '#client/breaker.ts'
import type { ClientError } from '#client/client-error.ts'
import { manualClock } from './manual-clock.ts'

function setUp() {
  const clock = manualClock(1_000_000)
  const store = memoryBreakerStore()
  return { clock, store, breaker: new Breaker(store, clock, 'origin me', () => 0) }
}

const openUntil = (breaker: Breaker): number | null => {
  try {
    breaker.admit()
    return null
  } catch (error) {
    return (error as ClientError).retryAtMs
  }
}

test('fifteen failures in 30 s open it, until the oldest has left', () => {
  const { clock, breaker } = setUp()
  for (let count = 0; count < 14; count++) {
    breaker.failed(true)
    clock.nowMs += 100
  }
  expect(openUntil(breaker)).toBeNull()
  breaker.failed(true)
  expect(openUntil(breaker)).toBe(1_030_000)
  clock.nowMs = 1_030_000
  expect(openUntil(breaker)).toBeNull()
})

test('requests without an answer count once five have failed', () => {
  const { breaker, store, clock } = setUp()
  for (let count = 0; count < 5; count++) breaker.failed(false)
  for (let count = 0; count < 9; count++) breaker.failed(true)
  expect(openUntil(breaker)).toBeNull()
  breaker.failed(false)
  expect(openUntil(breaker)).toBe(clock.nowMs + 30_000)
  expect(openUntil(new Breaker(store, clock, 'origin somebody else'))).toBeNull()
})

test('the service’s own block opens it for 30 s', () => {
  const { breaker, clock } = setUp()
  breaker.blocked()
  expect(openUntil(breaker)).toBe(clock.nowMs + 30_000)
})
