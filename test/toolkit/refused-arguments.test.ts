import { expect, test } from 'vitest'
import { z } from 'zod'
import { catalogue } from '#agent/tools/catalogue.ts'
import { sayRefusedArguments } from '#toolkit/run-tool.ts'

const said = (input: z.ZodObject, given: unknown): string => {
  const { error } = input.safeParse(given)
  return error ? sayRefusedArguments(input, given, error.issues) : ''
}

const one = (schema: z.ZodType) => z.strictObject({ it: schema })

test.each([
  [z.string().min(1), '', '`it` must not be empty.'],
  [z.array(z.string()).min(1), [], '`it` must not be empty.'],
  [z.array(z.string()).min(2), ['a'], '`it` must be at least 2 entries long.'],
  [z.array(z.string()).max(1), ['a', 'b'], '`it` must be at most 1 entry long.'],
  [z.string().max(3), 'four', '`it` must be at most 3 characters long.'],
  [z.number().min(1), 0, '`it` must be at least 1.'],
  [z.int(), 1.5, '`it` must be a whole number.'],
  [z.string(), undefined, '`it` is missing (string).'],
  [z.enum(['a', 'b']), 'c', '`it` must be one of a, b.'],
  [z.union([z.string(), z.number()]), true, '`it`: Expected string, or: Expected number.'],
  [z.url(), 'x', '`it`: Must be an address such as https://example.com.'],
])('%o', (schema, it, sentence) => {
  expect(said(one(schema), { it })).toBe(sentence)
})

test('what is not taken is told with what is', () => {
  expect(said(one(z.string()), { it: 'x', that: 1 })).toBe('`that` is not an argument; the arguments are it.')
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, number) => [`k${number}`, 1]))
  expect(said(one(z.string()), { it: 'x', ...many })).toMatch(
    /^`k0`, `k1`, `k2`, `k3`, `k4` \(and 995 more\) is not an/,
  )
  const nested = z.strictObject({
    it: z.strictObject({ here: z.string() }).optional(),
    list: z.array(z.strictObject({ a: z.string() })).optional(),
  })
  expect(said(nested, { it: { here: 'x', that: 1 } })).toBe('`it.that` is unknown; `it` takes here.')
  expect(said(nested, { list: [{ a: 'x', b: 1 }] })).toBe('`list.0.b` is unknown; `list.0` takes a.')
  expect(said(z.strictObject({}), { that: 1 })).toBe('`that` is not an argument; this tool has no arguments.')
})

const bad = [
  '',
  'x'.repeat(50_000),
  'zz',
  -1,
  0.5,
  1e12,
  Number.NaN,
  true,
  [],
  ['', ''],
  Array(9_999).fill('x'),
  {},
  null,
]

test.each(Object.keys(catalogue.tools))('no sentence about an argument of %s is one of a library', async name => {
  const tool = await catalogue.tools[name]?.()
  if (!tool) throw new Error(`no ${name}`)
  const names = [...Object.keys(tool.input.shape), 'something']
  const sentences = [{}, null, 'x', ...names.flatMap(argument => bad.map(value => ({ [argument]: value })))].map(
    given => said(tool.input, given),
  )
  for (const sentence of sentences)
    expect(sentence).not.toMatch(
      /Invalid|Too (small|big)|>=|<=|\b1 (characters|entries|items)|\bint\b|undefined|\[object/,
    )
})
