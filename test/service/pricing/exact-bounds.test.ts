/** The exact limits of holds, lines and counts: the values on both sides of each limit. */

import { expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { askedTokens } from '#engines/ports/engine.ts'
import {
  countPromptTokens,
  countTokens,
  endOfPiece,
  imageTokens,
  mediaTokens,
  RunningCount,
  TokenCounter,
  tokenizedCharacters,
} from '#engines/tokens/count-tokens.ts'
import { chatLines, estimateChat, tokensFor } from '#service/capabilities/chat/price-chat.ts'
import { priceVideo } from '#service/capabilities/video/quote-video.ts'
import { textModel, videoModel } from '../models/example-models.ts'

/** A micro-USD a token, either way. */
const even = { inputPicoUsd: 1_000_000n, outputPicoUsd: 1_000_000n }
const model = textModel({ price: even, contextTokens: 10_000, maximumCompletionTokens: 4_000 })

const parse = (change: object = {}) =>
  ChatCompletionRequest.parse({ model: 'demo-chat', messages: [{ role: 'user', content: 'hello' }], ...change })

/** Template, frame, `{"role":"user"}` and `hello`. */
const helloBytes = 256 + 16 + 15 + 5

const estimate = (available: number, change: object = {}, of = model) =>
  estimateChat(of, parse(change), microUsd(available))

const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]
const format = { type: 'json_object' }
const image = { type: 'image_url', image_url: { url: 'https://images.example/a.png' } }

const prompts: [what: string, change: object, more: number][] = [
  ['a text', {}, 0],
  ['tools count their bytes', { tools }, Buffer.byteLength(JSON.stringify(tools))],
  ['an answer’s format counts its bytes', { response_format: format }, Buffer.byteLength(JSON.stringify(format))],
  [
    'parts count each for itself',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }, image] }] },
    imageTokens,
  ],
  ['bytes count, not letters', { messages: [{ role: 'user', content: 'hellö' }] }, 1],
]

test.each(prompts)('the prompt’s bound: %s', (_what, change, more) => {
  expect(estimate(5_000_000, { max_tokens: 10, ...change })).toMatchObject({ maxPromptTokens: helloBytes + more })
})

const offers: [rule: string, available: number, change: object, found: object][] = [
  [
    'exactly what a maximum needs is enough',
    helloBytes + 1_000,
    { max_tokens: 1_000 },
    { hold: 1_292n, maxCompletionTokens: 1_000 },
  ],
  ['one less is not', helloBytes + 999, { max_tokens: 1_000 }, { needed: 1_292n }],
  ['a fifth that covers all of it is all of it', 5 * 4_292, {}, { hold: 4_292n, maxCompletionTokens: 4_000 }],
  ['a fifth that misses one token is one token less', 5 * 4_292 - 1, {}, { hold: 4_291n, maxCompletionTokens: 3_999 }],
  ['and may go on to all of it', 5 * 4_292 - 1, {}, { most: { hold: 4_292n, maxCompletionTokens: 4_000 } }],
  [
    'exactly a useful answer is enough',
    helloBytes + 256,
    {},
    { hold: 548n, maxCompletionTokens: 256, most: { hold: 548n } },
  ],
  ['one less than that is not', helloBytes + 255, {}, { needed: 548n }],
  [
    'where the credit ends, the answer may go on to there',
    2_000,
    {},
    { hold: 548n, most: { hold: 2_000n, maxCompletionTokens: 1_708 } },
  ],
]

test.each(offers)('%s', (_rule, available, change, found) => {
  expect(estimate(available, change)).toMatchObject(found)
})

test('where an answer costs nothing it is not shortened', () => {
  const free = textModel({ ...model, price: { inputPicoUsd: 1_000_000n, outputPicoUsd: 0n } })
  expect(estimate(helloBytes, {}, free)).toMatchObject({ hold: 292n, maxCompletionTokens: 4_000 })
  expect(tokensFor(free.price, 10, microUsd(0n))).toBe(Number.MAX_SAFE_INTEGER)
  expect(tokensFor(even, 10, microUsd(25n))).toBe(15)
})

test('the hold takes the dearer of both input prices', () => {
  const dear = textModel({ ...model, price: { ...even, cachedInputPicoUsd: 2_000_000n } })
  expect(estimate(1_000, { max_tokens: 10 }, dear)).toMatchObject({ hold: 594n })
  const cheap = textModel({ ...model, price: { ...even, cachedInputPicoUsd: 1n } })
  expect(estimate(1_000, { max_tokens: 10 }, cheap)).toMatchObject({ hold: 302n })
})

test('a prompt as long as the context leaves no answer, one token less leaves one', () => {
  const counted = countPromptTokens(parse())
  const of = (contextTokens: number) => textModel({ ...model, contextTokens })
  expect(() => estimate(5_000, {}, of(counted))).toThrow()
  expect(estimate(5_000, {}, of(counted + 1))).toMatchObject({ maxCompletionTokens: 1, maxPromptTokens: counted + 1 })
  // As long as bytes fit nothing is counted, and the bound stays the bytes.
  expect(estimate(50_000, {}, of(helloBytes + 4_000))).toMatchObject({
    maxPromptTokens: helloBytes,
    maxCompletionTokens: 4_000,
  })
})

const used = (prompt: number, completion: number) => {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

test('what was not used has no line, and what was counted here says so', () => {
  const skus = (...of: Parameters<typeof chatLines>) => chatLines(...of).map(({ sku }) => sku)
  expect(skus({ price: even }, used(0, 0))).toEqual([])
  expect(skus({ price: even }, used(3, 0))).toEqual(['chat.input'])
  expect(skus({ price: even }, used(3, 2))).toEqual(['chat.input', 'chat.output'])
  expect(skus({ price: even }, used(3, 2), 'estimated')).toEqual(['chat.input.estimated', 'chat.output.estimated'])
})

const maxima: [what: string, given: object, tokens: number | undefined][] = [
  ['none', {}, undefined],
  ['zero is none', { max_tokens: 0 }, undefined],
  ['a part of one is none', { max_tokens: 1.5 }, undefined],
  ['null is none', { max_tokens: null, max_completion_tokens: 7 }, 7],
  ['a text is none', { max_tokens: '5', maxCompletionTokens: 9 }, 9],
  ['the smallest of several', { max_tokens: 9, max_completion_tokens: 4, maxCompletionTokens: 6 }, 4],
  ['one', { max_tokens: 1 }, 1],
]

test.each(maxima)('a caller’s maximum: %s', (_what, given, tokens) => {
  expect(askedTokens(given as never)).toBe(tokens)
})

const media: [part: object, tokens: number][] = [
  [image, imageTokens],
  [{ type: 'input_audio', input_audio: { data: 'a'.repeat(64), format: 'mp3' } }, imageTokens + 2],
  [{ type: 'input_audio', input_audio: { data: 'a'.repeat(65), format: 'mp3' } }, imageTokens + 3],
  [{ type: 'video_url', video_url: { url: 'a'.repeat(33) } }, imageTokens + 2],
  [{ type: 'file', file: { file_data: 'a'.repeat(40) } }, imageTokens + 40],
]

test.each(media)('%j counts as %i tokens', (part, tokens) => {
  expect(mediaTokens(part as never)).toBe(tokens)
})

const a = (count: number) => 'a'.repeat(count)
const pieces: [what: string, text: string, end: number][] = [
  ['a whole text', a(100), 100],
  ['a text of exactly one piece', a(128), 128],
  ['one letter more', a(129), 128],
  ['a space at its end', `${a(128)} ${a(50)}`, 128],
  ['a space in its second half', `${a(65)} ${a(150)}`, 65],
  ['a space in its first half is too early', `${a(64)} ${a(150)}`, 128],
  ['a character of two is not cut, from the first of them', `${a(127)}\u{10000}${a(10)}`, 127],
  ['to the last', `${a(127)}\u{103ff}${a(10)}`, 127],
  ['before a character of two is a good place', `${a(128)}\u{10000}${a(10)}`, 128],
  ['nor is what only looks like the half of one', `${a(128)}\ue000${a(10)}`, 128],
]

test.each(pieces)('where a piece ends: %s', (_what, text, end) => {
  expect(endOfPiece(text, 0)).toBe(end)
})

const beyond: [rule: string, before: string, rest: string, tokens: (each: number) => number][] = [
  ['like what came before it', '1234 ', 'word ', each => Math.ceil(each * 500)],
  ['or a token for five bytes, where that is more', '     ', '語語語語語', () => 300],
]

test.each(beyond)('beyond so many characters of a request a text counts %s', (_rule, before, rest, tokens) => {
  const counter = new TokenCounter()
  const each = counter.count(before.repeat(tokenizedCharacters / 5 + 1)) / (5 * Math.ceil(tokenizedCharacters / 5))
  expect(Math.abs(counter.count(rest.repeat(100)) - tokens(each))).toBeLessThan(4)
})

test('a text that is still coming counts whole words, and one for the word that has begun', () => {
  const count = new RunningCount()
  expect([count.soFar, count.whole]).toEqual([0, 0])
  count.push('hello wor')
  expect([count.soFar, count.whole]).toEqual([2, countTokens('hello wor')])
  count.push('ld and')
  expect(count.soFar).toBe(countTokens('hello world') + 1)
  count.push(' ')
  expect(count.wholeWith('more')).toBe(countTokens('hello world and more'))
})

test('a long text that comes in words counts as it does at once; in crumbs each of them counts, and it never falls', () => {
  const text = 'The quick brown fox jumps over the lazy dog, again. '.repeat(20)
  const inWords = new RunningCount()
  for (const word of text.split(/(?<= )/)) inWords.push(word)
  expect(inWords.whole).toBe(new TokenCounter().count(text))
  const count = new RunningCount()
  let before = 0
  for (const letter of text) {
    count.push(letter)
    expect(count.soFar).toBeGreaterThanOrEqual(before)
    before = count.soFar
  }
  expect(before).toBeLessThanOrEqual(count.whole)
  expect(count.whole).toBe(text.length)
})

test('sound that costs nothing has no line', () => {
  const priced = videoModel()
  const asked = { model: priced.id, prompt: 'A hill', duration: '2s', resolution: '360p', audio: true } as never
  const silent = videoModel({ price: { ...priced.price, audioPerSecondMicroUsd: microUsd(0) } })
  expect(priceVideo(priced, asked).lines.map(({ sku }) => sku)).toEqual(['video.second.360p', 'video.audio.second'])
  expect(priceVideo(silent, asked).lines.map(({ sku }) => sku)).toEqual(['video.second.360p'])
})
