import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { patched } from './mutant.ts'
import { mutants } from './mutants.ts'
import { postgresMutants } from './postgres-mutants.ts'
import { root } from './tree-copy.ts'

test.each([...mutants, ...postgresMutants])(
  'the patch of "$name" fits the source, and its check is there',
  async ({ patches, check }) => {
    const sources = new Map<string, string>()
    for (const patch of patches) {
      const source = sources.get(patch.file) ?? (await readFile(join(root, patch.file), 'utf8'))
      sources.set(patch.file, patched(source, patch))
    }
    expect(sources.size).toBeGreaterThan(0)
    if ('tests' in check) expect(hasTest(await textOf(join(root, check.tests)), check.title ?? '')).toBe(true)
  },
)

/** Whether a test has this in its title, which may end with a value. */
const hasTest = (text: string, title: string): boolean =>
  text.includes(title) || (text.includes(title.replace(/\S+$/, '$')) && text.includes(title.split(' ').at(-1) ?? ''))

/** A file of tests, and what it imports of the tests, where the title of a test may stand. */
async function textOf(path: string, seen = new Set<string>()): Promise<string> {
  if (seen.has(path)) return ''
  seen.add(path)
  const text = await readFile(path, 'utf8')
  const imported = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, name = '']) => join(dirname(path), name))
  return [text, ...(await Promise.all(imported.map(each => textOf(each, seen))))].join('\n')
}

test('a patch that fits nowhere, or twice, is refused', () => {
  const patch = { file: 'a.ts', find: 'x', replace: 'y' }
  expect(() => patched('z', patch)).toThrow('fits 0 times')
  expect(() => patched('x x', patch)).toThrow('fits 2 times')
  expect(patched('a x', patch)).toBe('a y')
})
