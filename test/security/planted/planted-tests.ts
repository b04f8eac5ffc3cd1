/** Tests of several kinds, for `security.test.ts` to tell apart. */
import { describe, expect, test } from 'vitest'

const isTrue = () => expect(true).toBe(true)

test('one that runs', isTrue)
test.each(['a'])('a row of %s', isTrue)
test.skip('one that is skipped', isTrue)
test.todo('one left to do')
test.skipIf(true)('only where asked for', isTrue)
test('one that needs something', { tags: ['never-here'] }, isTrue)
describe.skip('in what is skipped', () => {
  test('one in what is skipped', isTrue)
})
