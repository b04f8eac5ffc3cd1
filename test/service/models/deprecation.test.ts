import { expect, test } from 'vitest'
import { Catalogue } from '#service/models/catalogue.ts'
import type { TextModel } from '#service/models/model.ts'
import { textModel, videoModel } from './example-models.ts'

const replacedBy = (change: Partial<TextModel>, removesAt = '2027-01-31') => [
  textModel({ id: 'next', traits: [], ...change }),
  textModel({
    id: 'former',
    traits: [],
    deprecation: { autoRemap: true, date: removesAt, removesAt, replacementModelId: 'next' },
  }),
]

test.each([
  ['one that is not there', { id: 'other' }, 'there is no such model of its type'],
  ['a dearer one', { price: { inputPicoUsd: 10n ** 9n, outputPicoUsd: 1n } }, 'costs more (inputPicoUsd)'],
  [
    'one whose cached tokens are dearer',
    { price: { inputPicoUsd: 1n, outputPicoUsd: 1n, cachedInputPicoUsd: 10n ** 9n } },
    'costs more (cachedInputPicoUsd)',
  ],
  [
    'one whose writing into a cache is dearer than an input',
    { price: { inputPicoUsd: 1n, outputPicoUsd: 1n, cacheWritePicoUsd: 10n ** 9n } },
    'costs more (cacheWritePicoUsd)',
  ],
  [
    'one that is removed before it',
    { deprecation: { autoRemap: false, date: '2027-01-31', removesAt: '2027-01-31' } },
    'which is removed before it',
  ],
])('a deprecated model is not replaced by %s', (_, change, sentence) => {
  expect(() => new Catalogue(replacedBy(change))).toThrow(sentence)
})

test('a cache-write price that is no higher than the input price allows a replacement', () => {
  const price = { inputPicoUsd: 1n, outputPicoUsd: 1n, cacheWritePicoUsd: 1n }
  expect(new Catalogue(replacedBy({ price })).find('text', 'next').id).toBe('next')
})

test('other models take the place of the former ones, or nothing changes', () => {
  const sold = new Catalogue([textModel({ id: 'first', traits: [] })])
  expect(() => sold.replace([textModel(), textModel()])).toThrow('share an id')
  expect(sold.find('text', 'first').id).toBe('first')
  sold.replace([textModel({ id: 'second', traits: [] })])
  expect([sold.find('text', 'second').id, sold.asked('text', 'first')]).toEqual(['second', null])
})

test('a job keeps its model, whatever has become of it', () => {
  const past = '2026-01-01'
  const deprecation = { autoRemap: false, date: past, removesAt: past }
  const sold = new Catalogue([videoModel({ id: 'old', traits: [], deprecation })])
  expect(sold.ofJob('old').id).toBe('old')
  expect(() => sold.find('video', 'old')).toThrow('MODEL_GONE')
})
