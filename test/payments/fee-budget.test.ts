import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FeeBudget } from '#payments/facilitators/fee-budget.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

const open = (perHour: bigint) => {
  const clock = { nowMs: 1_800_000_000_000, now: () => clock.nowMs }
  return { clock, fees: new FeeBudget({ perHour, clock }) }
}

test('fees are counted up to the cap, and what does not fit is not counted', () => {
  const { fees } = open(100n)
  expect(fees.count(60n)).not.toBeNull()
  expect(fees.count(41n)).toBeNull()
  expect(fees.left).toBe(40n)
  expect(fees.count(40n)).not.toBeNull()
  expect(fees.count(1n)).toBeNull()
})

test('a fee that was less than its most, or was never paid, gives the rest back', () => {
  const { fees } = open(100n)
  const counted = fees.count(100n)
  counted?.correct(30n)
  expect(fees.left).toBe(70n)
  counted?.correct(0n)
  expect(fees.left).toBe(100n)
})

test('one that turned out dearer than the cap leaves no room, and never less than none', () => {
  const { fees } = open(100n)
  fees.count(10n)?.correct(1_000n)
  expect(fees.left).toBe(0n)
})

test('after an hour there is room again, a minute at a time', () => {
  const { clock, fees } = open(100n)
  fees.count(60n)
  clock.nowMs += minuteMs
  fees.count(40n)
  clock.nowMs += hourMs - 2 * minuteMs
  expect(fees.left).toBe(0n)
  clock.nowMs += minuteMs
  expect(fees.left).toBe(60n)
  clock.nowMs += minuteMs
  expect(fees.left).toBe(100n)
})

test('a clock that is set back an hour does not close it', () => {
  const { clock, fees } = open(100n)
  fees.count(100n)
  clock.nowMs -= hourMs
  expect(fees.left).toBe(100n)
})

test('in no hour is more counted than the cap, whatever is asked for and when', () => {
  const step = fc.record({ fee: fc.bigInt({ min: 0n, max: 60n }), waitMs: fc.integer({ min: 0, max: 20 * minuteMs }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const { clock, fees } = open(100n)
      const sent: { atMs: number; fee: bigint }[] = []
      for (const { fee, waitMs } of steps) {
        clock.nowMs += waitMs
        if (fees.count(fee)) sent.push({ atMs: clock.nowMs, fee })
        const within = sent.filter(({ atMs }) => clock.nowMs - atMs <= hourMs - minuteMs)
        expect(within.reduce((sum, { fee: each }) => sum + each, 0n)).toBeLessThanOrEqual(100n)
      }
    }),
  )
})
