import { expect, test } from 'vitest'
import { Throttle } from '#host/pages/throttle.ts'

const start = Date.parse('2026-11-21T09:00:00Z')

test('a subject waits until its window ends, and no longer if the clock is set back', () => {
  const throttle = new Throttle({ most: 2, inMs: 60_000, subjects: 10 })
  throttle.count('ada', start)
  expect(throttle.waitSeconds('ada', start)).toBe(0)
  throttle.count('ada', start + 1_000)
  expect(throttle.waitSeconds('ada', start + 1_000)).toBe(59)
  expect(throttle.waitSeconds('ada', start + 60_000)).toBe(0)
  expect(throttle.waitSeconds('ada', start - 3_600_000)).toBe(0)
  throttle.count('ada', start - 3_600_000)
  expect(throttle.waitSeconds('ada', start - 3_600_000)).toBe(0)
})
