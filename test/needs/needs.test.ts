import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { integrationTests, listedTests } from '../layers.ts'
import { findChromium, findProgram } from './find-program.ts'
import { linesOf } from './list-skipped.ts'
import { inWords, type Need, needs, tagsOfNeeds } from './needs.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
afterEach(() => vi.unstubAllEnvs())

const here: Need = { what: 'a program that is here', isHere: () => true, debian: ['here'] }
const away: Need = { what: 'a program', isHere: () => false, debian: ['one', 'two'] }
const other: Need = { what: 'another system', isHere: () => false }
const all = new Map(Object.entries({ here, away, other }))
const skippedBy = (mustRun: boolean) =>
  tagsOfNeeds(mustRun, all).flatMap(({ name, ...tag }) => ('skip' in tag ? [name] : []))

test('a test without its need is skipped, or fails if all tests must run and a command could install it', () => {
  expect(skippedBy(false)).toEqual(['away', 'other'])
  expect(skippedBy(true)).toEqual(['other'])
})

test('a need names the command that installs it', () => {
  expect(inWords([away])).toBe('needs a program (sudo apt-get install one two)')
  expect(inWords([other])).toBe('needs another system')
  expect(inWords([needs.engines, needs.llama])).toMatch(/ and node-llama-cpp \(npm run peers\)$/)
})

test('where the PATH has nothing, no program is found', () => {
  expect(findProgram('node')).not.toBeNull()
  vi.stubEnv('PATH', '')
  expect([findProgram('node'), findChromium(), needs.curl.isHere(), needs.cc.isHere()]).toEqual([
    null,
    null,
    false,
    false,
  ])
})

test('the end of a run counts what was skipped by need, and names what was skipped without one', () => {
  const because = (need: Need, title: string) => ({ title, why: inWords([need]) })
  const skipped = [because(other, 'a'), because(away, 'b'), because(away, 'c'), { title: 'file > d', why: null }]
  const lines = linesOf(skipped)
  expect(lines[0]).toBe('Skipped tests: 4')
  expect(lines.slice(1, 3).map(line => line.trim())).toEqual([`2  ${inWords([away])}`, `1  ${inWords([other])}`])
  expect(lines[3]).toContain('file > d')
  expect(linesOf([])).toEqual([])
})

test('no test is skipped by a condition of its own', () => {
  const own = globSync('test/**/*.ts', { cwd: root, exclude: ['test/security/planted/**', 'test/needs/needs.test.ts'] })
  const conditions = /\.(skipIf|runIf|skip|todo)\(/
  expect(own.filter(path => conditions.test(readFileSync(`${root}${path}`, 'utf8')))).toEqual([])
})

test('every file that the list of the second layer names is there', () => {
  expect(integrationTests).toEqual(expect.arrayContaining(listedTests))
})
