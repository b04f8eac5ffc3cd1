import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonCharacters } from '#ledger/bounds.ts'
import {
  type KeptAnswer,
  keptAnswerBytes,
  lastingHeaders,
  notKept,
  readAnswer,
  writeAnswer,
} from '#service/http/idempotency/replayed-answer.ts'

const typed = (type: string, body: Buffer): KeptAnswer => ({ status: 200, headers: [['content-type', type]], body })

test('bytes of any kind come back as they were', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      const answer = typed('audio/mpeg', Buffer.from(bytes))
      expect(readAnswer(writeAnswer(answer))).toEqual(answer)
    }),
  )
})

test('whatever is printed as JSON comes back as it was', () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.constantFrom('application/json', 'text/event-stream; charset=utf-8'),
      (value, type) => {
        const answer = typed(type, Buffer.from(JSON.stringify(value)))
        expect(readAnswer(writeAnswer(answer))).toEqual(answer)
      },
    ),
  )
})

test.each([
  ['the text that grows most', 'application/json', Buffer.from(JSON.stringify('\\'.repeat(keptAnswerBytes / 2 - 1)))],
  ['bytes that would grow more as text', 'audio/mpeg', Buffer.alloc(keptAnswerBytes)],
])('the largest answer fits its column: %s', (_what, type, body) => {
  expect(body.byteLength).toBe(keptAnswerBytes)
  const written = writeAnswer(typed(type, body))
  expect(written.length).toBeLessThanOrEqual(jsonCharacters)
  expect(readAnswer(written)?.body.equals(body)).toBe(true)
  expect(writeAnswer(typed(type, Buffer.alloc(keptAnswerBytes + 1)))).toBe(notKept)
})

test('an answer that was not kept is none', () => {
  expect(readAnswer(notKept)).toBeNull()
})

test('what is of the moment is not kept, in the words of any vendor', () => {
  const headers = new Headers({
    'cf-ray': 'an id',
    'content-type': 'application/json',
    'content-encoding': 'br',
    'x-acme-balance-usd': '1.000000',
    'x-acme-model-id': 'demo-chat',
    'x-balance-remaining': '1.000000',
    'x-ratelimit-remaining-requests': '7',
  })
  expect(lastingHeaders(headers, 'acme')).toEqual([
    ['content-type', 'application/json'],
    ['x-acme-model-id', 'demo-chat'],
  ])
})
