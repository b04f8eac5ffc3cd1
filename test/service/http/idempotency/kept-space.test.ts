import { expect, test } from 'vitest'
import { KeptSpace } from '#service/http/idempotency/claims.ts'
import { keptBytesADay, keptSpaceMs, smallAnswerBytes } from '#service/http/idempotency/replayed-answer.ts'
import { TestClock } from '../../open-service.ts'

test('each account has its share of a day, and small answers take none of it', () => {
  const clock = new TestClock()
  const space = new KeptSpace(clock)
  expect(space.take('ada', keptBytesADay)).toBe(true)
  expect(space.take('ada', smallAnswerBytes + 1)).toBe(false)
  expect(space.take('ada', smallAnswerBytes)).toBe(true)
  expect(space.take('bob', smallAnswerBytes + 1)).toBe(true)
  clock.pass(keptSpaceMs - 1)
  expect(space.take('ada', smallAnswerBytes + 1)).toBe(false)
  clock.pass(1)
  expect(space.take('ada', keptBytesADay)).toBe(true)
  expect(space.take('ada', smallAnswerBytes + 1)).toBe(false)
})

test('an answer that finds no room leaves it to others', () => {
  const space = new KeptSpace(new TestClock())
  expect(space.take('ada', keptBytesADay + 1)).toBe(false)
  expect(space.take('ada', keptBytesADay)).toBe(true)
})
