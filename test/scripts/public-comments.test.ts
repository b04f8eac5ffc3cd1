import { expect, test } from 'vitest'
import { publicComments } from '../../scripts/build/declarations.ts'

test.each([
  ['a remark', '/** Where media come from (brief §2.6): a URL. */', '/** Where media come from: a URL. */'],
  ['two documents in one', '/** Answers (brief §5, published contract §3). */', '/** Answers. */'],
  ['a part without a number', ' * The word (brief, preamble).', ' * The word.'],
  ['the beginning of a sentence', '/** Brief §8.5, §2.2: five USD. */', '/** Five USD. */'],
  ['a comment of nothing else', 'a: 1\n  /** Brief §2.1. */\nb: 2', 'a: 1\nb: 2'],
  ['nothing', '/** What a briefing (as told) is. */', '/** What a briefing (as told) is. */'],
])('of a published comment %s goes', (_, text, left) => {
  expect(publicComments('a.d.ts', text)).toBe(left)
})

test('a reference that a sentence is built on stops the build, with its line', () => {
  expect(() => publicComments('a.d.ts', 'x\n/** As the brief has it. */')).toThrow(
    'a.d.ts:2 names a document that users do not have: /** As the brief has it. */',
  )
})
