import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shortened } from '#cli/up/journey.ts'

test.each([
  ['all of it', 40, 'all of it'],
  ['made from the question', 12, 'made from…'],
  ['made from the question', 14, 'made from the…'],
  ['made from the question', 13, 'made from…'],
  ['incomprehensibilities', 8, 'incompr…'],
])('%j in %i characters', (text, most, expected) => {
  expect(shortened(text, most)).toBe(expected)
})

test('it is never longer, and what is cut ends with a mark after whole words', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n'), maxLength: 60 }),
      fc.integer({ min: 2, max: 40 }),
      (text, most) => {
        const short = shortened(text, most)
        expect(short.length).toBeLessThanOrEqual(most)
        if (short === text) return
        expect(short.endsWith('…')).toBe(true)
        expect(text.startsWith(short.slice(0, -1))).toBe(true)
      },
    ),
  )
})
