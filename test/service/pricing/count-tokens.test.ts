import fc from 'fast-check'
import { countTokens as exact } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, test } from 'vitest'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { countPromptTokens, countTokens, imageTokens, tokenizedCharacters } from '#engines/tokens/count-tokens.ts'

const english = 'The quick brown fox jumps over the lazy dog, and then it rests for a while. '

test.each([
  ['nothing', '', 0],
  ['a word', 'hello', 1],
  ['a special token is text', '<|endoftext|>', exact('<|endoftext|>', { disallowedSpecial: new Set() })],
])('%s', (_rule, text, tokens) => {
  expect(countTokens(text)).toBe(tokens)
})

test('ordinary text counts within three per cent of the whole', () => {
  const text = english.repeat(200)
  expect(Math.abs(countTokens(text) - exact(text))).toBeLessThan(exact(text) * 0.03)
})

test('a megabyte of one letter, which a tokenizer alone needs minutes for, is counted', () => {
  const text = 'a'.repeat(1_000_000)
  // An eighth of it where it is tokenized, a fifth beyond.
  expect(countTokens(text)).toBe(197_543)
})

test('what lies beyond the tokenized part counts like the part before', () => {
  const text = english.repeat(Math.ceil((tokenizedCharacters * 3) / english.length))
  const first = countTokens(text.slice(0, tokenizedCharacters))
  expect(countTokens(text) / first).toBeCloseTo(text.length / tokenizedCharacters, 1)
})

test('a text never has more tokens than bytes, wherever it is cut', () => {
  const unit = fc.constantFrom('a', ' ', '\n', '語', '👩‍👩‍👧', '\ud83d', '\udc69', 'é', '<|', '0')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 600 }), text => {
      const tokens = countTokens(text)
      expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(text))
      expect(tokens > 0).toBe(text.length > 0)
    }),
  )
})

test('a prompt counts its messages, names, tools and media', () => {
  const count = (change: object) =>
    countPromptTokens(
      ChatCompletionRequest.parse({ model: 'm', messages: [{ role: 'user', content: 'hello' }], ...change }),
    )
  const plain = count({})
  expect(plain).toBe(3 + 3 + 1)
  expect(count({ messages: [{ role: 'user', content: 'hello', name: 'ann' }] })).toBeGreaterThan(plain)
  expect(count({ tools: [{ type: 'function', function: { name: 'look_up' } }] })).toBeGreaterThan(plain)
  expect(
    count({ messages: [{ role: 'assistant', content: null, tool_calls: [{ function: { name: 'f' } }] }] }),
  ).toBeGreaterThan(6)
  const parts = [
    { type: 'text', text: 'hello' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  ]
  expect(count({ messages: [{ role: 'user', content: parts }] })).toBe(plain + imageTokens)
})
