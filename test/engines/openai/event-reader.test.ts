import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventReader, EventTooLong, eventCharacters } from '#engines/openai/chat-stream.ts'

function readIn(bytes: Buffer, cuts: readonly number[]): string[] {
  const reader = new EventReader()
  const ends = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  const events: string[] = []
  let at = 0
  for (const end of [...ends, bytes.length]) {
    events.push(...reader.push(bytes.subarray(at, end)))
    at = end
  }
  return [...events, ...reader.end()]
}

const lineOfText = fc.string({ unit: fc.constantFrom('a', ' ', ':', '{', '"', '語', '🚤'), maxLength: 12 })
const anyEvent = fc.array(lineOfText, { minLength: 1, maxLength: 3 })
const anyCuts = fc.array(fc.nat(10_000), { maxLength: 12 })

test('events come back whole, wherever the stream is cut and however its lines end', () => {
  fc.assert(
    fc.property(
      fc.array(anyEvent, { maxLength: 6 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      anyCuts,
      (events, lineEnd, cuts) => {
        const text = events.map(lines => `${lines.map(line => `data: ${line}${lineEnd}`).join('')}${lineEnd}`).join('')
        expect(readIn(Buffer.from(text), cuts)).toEqual(events.map(lines => lines.join('\n')))
      },
    ),
  )
})

test('any bytes at all give the same events however they are cut', () => {
  const unit = fc.constantFrom('d', 'data', ':', ' ', '\r', '\n', '\ufeff', 'x', 'é')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 60 }), anyCuts, (text, cuts) => {
      const bytes = Buffer.from(text)
      expect(readIn(bytes, cuts)).toEqual(readIn(bytes, []))
    }),
  )
})

test.each([
  ['a comment', ': hello\n\n', []],
  ['another field', 'event: x\nid: 1\nretry: 5\n\n', []],
  ['a field without a colon', 'data\n\n', ['']],
  ['only the first space goes', 'data:  x\n\n', [' x']],
  ['a blank line alone', '\n\n\n', []],
  ['an end without a blank line', 'data: x', ['x']],
  ['a byte order mark at the start', '\ufeffdata: x\n\n', ['x']],
  ['a second byte order mark', '\ufeff\ufeffdata: x\n\n', []],
])('%s', (_rule, text, events) => {
  const bytes = Buffer.from(text)
  expect(readIn(bytes, [])).toEqual(events)
  expect(readIn(bytes, [...bytes.keys()])).toEqual(events)
})

test('a line that never ends is refused before it fills the memory', () => {
  const reader = new EventReader()
  const piece = Buffer.alloc(64 * 1024, 'x')
  const feed = () => {
    for (let fed = 0; fed <= eventCharacters + piece.length; fed += piece.length) reader.push(piece)
  }
  expect(feed).toThrow(EventTooLong)
})
