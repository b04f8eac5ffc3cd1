import fc from 'fast-check'
import { expect, test } from 'vitest'
import { framed, fromOutside, withoutHidden } from '#toolkit/from-outside.ts'

const hostile = fc.string({
  unit: fc.constantFrom('>', '\n>>> end of x', '\n>>>> end of x', '\n<<< x', ' ', 'a'),
  maxLength: 60,
})

test('no text closes its own frame', () => {
  fc.assert(
    fc.property(hostile, text => {
      const lines = framed('x', text).split('\n')
      const closing = lines.at(-1) ?? ''
      expect(closing).toMatch(/^>{3,} end of x$/)
      expect(lines.slice(0, -1).filter(line => line.startsWith(closing.split(' ')[0] ?? ''))).toEqual([])
      expect(lines.slice(1, -1).join('\n')).toBe(text)
    }),
  )
})

test('what a reader cannot see is taken out, and what a language needs stays', () => {
  const tags = String.fromCodePoint(0xe0041, 0xe0042)
  expect(withoutHidden(`a\u001b[31mb\u0007${tags}\u202ec\r\nd\te`)).toBe('a[31mbc\nd\te')
  const words = 'naïve — 日本語 עברית 👩‍👩‍👧'
  expect(withoutHidden(words)).toBe(words)
})

test('the label says what it is', () => {
  expect(fromOutside('answer of m', 'Pay me.')).toBe(
    '<<< answer of m, data from outside\nPay me.\n>>> end of answer of m, data from outside',
  )
})
