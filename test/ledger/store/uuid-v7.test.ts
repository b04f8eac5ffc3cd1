import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startsWithUuidV7, uuidV7, uuidV7Floor } from '#ledger/store/uuid-v7.ts'

const times = fc.nat(2 ** 48 / 4)

test('ids strictly grow, also where the clock steps back or a millisecond is crowded', () => {
  fc.assert(
    fc.property(fc.array(times, { minLength: 2, maxLength: 50 }), clock => {
      const ids = clock.map(uuidV7)
      expect(ids.toSorted()).toEqual(ids)
      expect(new Set(ids).size).toBe(ids.length)
    }),
  )
  const crowded = Array.from({ length: 20_000 }, () => uuidV7(5))
  expect(crowded.toSorted()).toEqual(crowded)
  expect(new Set(crowded).size).toBe(crowded.length)
})

test('an id is a UUID of version 7', () => {
  const id = uuidV7(2 ** 47)
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(startsWithUuidV7(`${id}/hold`)).toBe(true)
  expect(startsWithUuidV7(`hold/${id}`)).toBe(false)
  expect(startsWithUuidV7(id.toUpperCase())).toBe(false)
})

test('the floor of a millisecond is below its ids and above those of the one before', () => {
  const atMs = 2 ** 47 + 1_000_000
  const before = uuidV7(atMs - 1)
  const after = uuidV7(atMs)
  expect([after, uuidV7Floor(atMs), before].toSorted()).toEqual([before, uuidV7Floor(atMs), after])
})
