import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Checks that every test that `docs/conformance.md` names exists. */

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

/** The tables of engines below it have a test of their own. */
const [checklist = ''] = read('docs/conformance.md').split('\n## ')

const rows = checklist.split('\n').flatMap(line => {
  const [, section, rule, path, words] = /^\| ([\d.]+|–) \| (.+) \| `([^`]+)` \| `([^`]+)` \|$/.exec(line) ?? []
  return section && rule && path && words ? [{ section, rule, path, words }] : []
})

test('every line of the checklist is one that is looked for', () => {
  const lines = checklist.split('\n')
  expect(rows.length).toBeGreaterThanOrEqual(45)
  expect(lines.filter(line => line.startsWith('| ')).length).toBe(rows.length + 1)
})

test.each(rows)('$section $rule', ({ path, words }) => {
  expect(path).toMatch(/^test\/.*[.]test[.]ts$/)
  // One word stands in a file anyway: only a title says that its test is there.
  expect(words).toContain(' ')
  expect(read(path)).toContain(words)
})
