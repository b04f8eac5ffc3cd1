import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { catalogue } from '#agent/tools/catalogue.ts'
import { readArguments } from '#toolkit/input/read-arguments.ts'
import { samples } from '../mcp/samples.ts'

const input = z.strictObject({
  text: z.string().min(1),
  note: z.string().min(1).optional(),
  count: z.int().min(1).default(10),
  size: z.number().optional(),
  isLarge: z.boolean().optional(),
  kind: z.enum(['a', 'b']).optional(),
  files: z.array(z.string()).optional(),
  options: z.strictObject({ slug: z.string().optional(), isOn: z.boolean().optional() }).optional(),
})

test.each<[what: string, given: object, data: object]>([
  ['null for what is optional', { text: 'a', note: null, count: null, kind: null, files: null, options: null }, {}],
  ['null within an object', { text: 'a', options: { slug: null, isOn: true } }, { options: { isOn: true } }],
  ['an empty text for what is optional', { text: 'a', note: '', count: '', kind: '', files: '', options: '' }, {}],
  ['a number in a string', { text: 'a', count: '3', size: '-0.5' }, { count: 3, size: -0.5 }],
  ['a boolean in a string', { text: 'a', isLarge: 'false' }, { isLarge: false }],
  ['a list in a string', { text: 'a', files: '["b", "c"]' }, { files: ['b', 'c'] }],
  ['an object in a string', { text: 'a', options: '{"slug": "b"}' }, { options: { slug: 'b' } }],
  ['a string within an object', { text: 'a', options: { isOn: 'true' } }, { options: { isOn: true } }],
  [
    'what clients add for themselves',
    { text: 'a', wait_for_previous: true, task_progress: '- [ ] b', toolCallId: 'c' },
    {},
  ],
  ['a text that looks like JSON', { text: '["a"]', note: 'null' }, { text: '["a"]', note: 'null' }],
])('%s is read as it is meant', (_what, given, data) => {
  expect(readArguments(input, given)).toEqual({ data: { text: 'a', count: 10, ...data }, issues: null })
})

test.each<[what: string, given: unknown, path: PropertyKey[]]>([
  ['null for what is required', { text: null }, ['text']],
  ['an empty text for what is required', { text: '' }, ['text']],
  ['a number that is too small', { text: 'a', count: '0' }, ['count']],
  ['words for a number', { text: 'a', count: 'three' }, ['count']],
  ['one entry for a list', { text: 'a', files: 'b.png' }, ['files']],
  ['a list of other values', { text: 'a', files: '[1]' }, ['files']],
  ['an unknown argument', { text: 'a', wait: true }, []],
  ['no object', 'a', []],
])('%s is refused, and the issue is about what was sent', (_what, given, path) => {
  const read = readArguments(input, given)
  expect(read.issues?.map(issue => issue.path)).toEqual([path])
  if (read.issues) expect(read.given).toEqual(given)
})

describe.each(Object.keys(catalogue.tools))('%s', name => {
  test('takes each argument as a string, and nothing for those that it may lack', async () => {
    const tool = await catalogue.tools[name]?.()
    if (!tool) throw new Error(`no ${name}`)
    const given = samples[name] ?? {}
    const plain = readArguments(tool.input, given)
    expect(plain.issues).toBeNull()
    const asStrings = Object.entries(given).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ])
    expect(readArguments(tool.input, Object.fromEntries(asStrings))).toEqual(plain)
    for (const nothing of [null, '']) {
      const absent = Object.keys(tool.input.shape).filter(key => !Object.hasOwn(given, key))
      const filled = { ...Object.fromEntries(absent.map(key => [key, nothing])), ...given }
      expect(readArguments(tool.input, filled)).toEqual(plain)
    }
  })
})
