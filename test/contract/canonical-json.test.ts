import { expect, test } from 'vitest'
import { canonicalJson } from '#contract/wire/json.ts'

test.each([
  ['members in another order', { a: 1, b: { c: [2], d: null } }, { b: { d: null, c: [2] }, a: 1 }, true],
  ['a member that is not there', { a: 1, b: undefined }, { a: 1 }, true],
  ['a list in another order', [1, 2], [2, 1], false],
  ['a number and its text', { a: 1 }, { a: '1' }, false],
  ['null and nothing', { a: null }, {}, false],
])('%s', (_what, one, other, areSame) => {
  expect(canonicalJson(one) === canonicalJson(other)).toBe(areSame)
})
