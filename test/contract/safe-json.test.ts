import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJson, parseJsonWithUniqueNames } from '#contract/wire/json.ts'

const atMost = (values: number) => ({ values, members: values })

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

test('what JSON.parse reads is read, whatever it is', () => {
  fc.assert(
    fc.property(fc.json(), text => {
      expect(parseJson(text, 64)).toEqual({
        ok: true,
        value: JSON.parse(text, (name, value) => (name === '__proto__' ? undefined : value)),
      })
    }),
  )
})

test('no text throws', () => {
  const garbage = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0 \n1a') }))
  fc.assert(
    fc.property(garbage, text => {
      expect(typeof parseJson(text, 64).ok).toBe('boolean')
      expect(typeof parseJsonWithUniqueNames(text, 64).ok).toBe('boolean')
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['64 levels', nested(64), true],
  ['65 levels', nested(65), false],
  ['65 levels of objects', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, false],
  ['a million levels', nested(1_000_000), false],
  ['brackets in a text', JSON.stringify('['.repeat(100)), true],
  ['brackets after an escaped quote', JSON.stringify(`"${'['.repeat(100)}`), true],
  ['brackets in a text after backslashes', JSON.stringify(`${'\\'.repeat(3)}"${'['.repeat(100)}`), true],
  ['brackets after a text that ends in backslashes', `["${'\\'.repeat(4)}",${nested(64)}]`, false],
  ['siblings', `[${Array.from({ length: 1000 }, () => '[]').join()}]`, true],
])('%s', (_, text, isFine) => {
  expect(parseJson(text, 64).ok).toBe(isFine)
})

test.each([
  ['items', '[1,2,3,4]', 4],
  ['members', '{"a":1,"b":2,"c":3}', 3],
  ['values at two levels', '{"a":[1,2],"b":{"c":3}}', 5],
  ['commas in a text', '[",,,,,,"]', 1],
  ['commas in a name', '{",,,,,,\\"":1}', 1],
  ['a value alone', '7', 0],
])('%s are counted', (_, text, values) => {
  expect(parseJson(text, 64, atMost(values)).ok).toBe(true)
  expect(parseJson(text, 64, atMost(values - 1))).toEqual(
    values ? { ok: false, reason: expect.stringContaining(`more than ${values - 1} values`) } : expect.anything(),
  )
})

test.each([
  ['members', '{"a":1,"b":{"c":[1,2,3]}}', 3],
  ['no items', '[1,[2,3]]', 0],
  ['colons in a text', '{"a:b":"::"}', 1],
])('as members of objects, %s are counted', (_, text, members) => {
  expect(parseJson(text, 64, { values: 100, members }).ok).toBe(true)
  expect(parseJson(text, 64, { values: 100, members: members - 1 })).toEqual(
    members
      ? { ok: false, reason: expect.stringContaining(`more than ${members - 1} members of objects`) }
      : expect.anything(),
  )
})

test('what is not empty has its values and no more', () => {
  const count = (value: unknown): number =>
    typeof value === 'object' && value !== null
      ? Object.values(value).reduce((sum: number, each) => sum + 1 + count(each), 0)
      : 0
  const some = fc.letrec<{ value: unknown }>(tie => ({
    value: fc.oneof(
      fc.constantFrom(0, 'a,b', null),
      fc.array(tie('value'), { minLength: 1, maxLength: 4 }),
      fc.dictionary(fc.constantFrom('x', 'y,', '"'), tie('value'), { minKeys: 1 }),
    ),
  })).value
  fc.assert(
    fc.property(some, value => {
      const text = JSON.stringify(value)
      expect(parseJson(text, 64, atMost(count(value))).ok).toBe(true)
      fc.pre(count(value) > 0)
      expect(parseJson(text, 64, atMost(count(value) - 1)).ok).toBe(false)
    }),
  )
})

test('a member named __proto__ is dropped, however it is spelled', () => {
  for (const text of [
    '{"__proto__":{"a":1},"b":2}',
    '{"\\u005f_proto__":{"a":1},"b":2}',
    '{"_\\u005Fproto_\\u005f":{"a":1},"b":2}',
  ]) {
    const parsed = parseJson(text, 64)
    expect(parsed).toEqual({ ok: true, value: { b: 2 } })
    if (parsed.ok) expect(Object.keys(parsed.value as object)).toEqual(['b'])
  }
  const deep = parseJson('{"a":[{"__proto__":{"isAdmin":true}}]}', 64)
  expect(deep.ok && (deep.value as { a: { isAdmin?: boolean }[] }).a[0]?.isAdmin).toBeUndefined()
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
})

const space = ' \t\r\n'.repeat(100)

test.each([
  ['plainly', '{"a":1,"a":2}', 'a'],
  ['with an escape', '{"a":1,"\\u0061":2}', 'a'],
  ['with an escaped quote', '{"\\"":1,"\\u0022":2}', '"'],
  ['with white space before the colon', `{"a"${space}:1,"a"${space}:2}`, 'a'],
  ['with white space before the second colon only', `{"a":1,${space}"a"${space}:2}`, 'a'],
  ['deep inside', '{"x":[{"y":{"a":1,"b":[],"a":2}}]}', 'a'],
  ['after a nested object of the same name', '{"a":{"a":1},"a":2}', 'a'],
  ['the empty name', '{"":1,"":2}', ''],
  ['__proto__', '{"__proto__":1,"__proto__":2}', '__proto__'],
])('a name twice: %s', (_, text, name) => {
  expect(parseJson(text, 64).ok).toBe(true)
  expect(parseJsonWithUniqueNames(text, 64)).toEqual({
    ok: false,
    reason: `has the member ${JSON.stringify(name)} twice`,
  })
})

test.each([
  ['in two objects', '[{"a":1},{"a":2}]'],
  ['in an object and inside it', '{"a":{"a":1}}'],
  ['as a name and as values', '{"a":"a","b":"a"}'],
  ['as values of a list', '{"a":["b","b"]}'],
  ['as a value that looks like a name', '{"a":"\\"a\\":1","b":2}'],
  ['in another case', '{"a":1,"A":2}'],
])('not the same name: %s', (_, text) => {
  expect(parseJsonWithUniqueNames(text, 64)).toEqual({ ok: true, value: JSON.parse(text) })
})

test('an object that JavaScript wrote has no name twice', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      expect(parseJsonWithUniqueNames(JSON.stringify(value), 1000).ok).toBe(true)
    }),
  )
})

test('one name said again is always found', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.dictionary(fc.string(), fc.jsonValue()), (name, rest) => {
      const members = Object.entries(rest).map(([key, value]) => `${JSON.stringify(key)} : ${JSON.stringify(value)}`)
      const text = `{${[`${JSON.stringify(name)}\n:1`, ...members, `${JSON.stringify(name)}:2`].join(' , ')}}`
      expect(parseJsonWithUniqueNames(text, 1000).ok).toBe(false)
    }),
  )
})
