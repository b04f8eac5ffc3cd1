import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
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
    if ('tests' in check) await access(join(root, check.tests))
  },
)

test('a patch that fits nowhere, or twice, is refused', () => {
  const patch = { file: 'a.ts', find: 'x', replace: 'y' }
  expect(() => patched('z', patch)).toThrow('fits 0 times')
  expect(() => patched('x x', patch)).toThrow('fits 2 times')
  expect(patched('a x', patch)).toBe('a y')
})
