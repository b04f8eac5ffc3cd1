/** Every row of `docs/security.md` is shown by tests that exist and run. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { inWords, lackingOf, type Need } from '../needs/needs.ts'
import { type CollectedTest, collectedTests } from './collected-tests.ts'
import { securityPage, showingTests, shownBy, threats, titleOf } from './threats.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Whether the name is the title, or begins with it where that is only its beginning. */
const isNamed = (name: string, title: string) =>
  title.endsWith('…') ? name.startsWith(title.slice(0, -1)) : name === title

interface Shown {
  /** Titles of the row under which no test runs, and none would if what it needs were here. */
  missing: string[]
  /** What tests of it need that this machine has not. */
  lacking: Need[]
}

function shown(by: ReturnType<typeof shownBy>, tests: readonly CollectedTest[], needsOf = lackingOf): Shown {
  const missing: string[] = []
  const lacking = new Set<Need>()
  for (const { file, title } of by) {
    const named = tests.filter(each => each.file === file && each.names.some(name => isNamed(name, title)))
    if (named.some(({ isSkipped }) => !isSkipped)) continue
    const needs = named.flatMap(({ tags }) => needsOf(tags))
    if (needs.length === 0) missing.push(`${file}: ${title}`)
    for (const need of needs) lacking.add(need)
  }
  return { missing, lacking: [...lacking] }
}

describe('a row is shown by tests that run', () => {
  let tests: CollectedTest[] = []
  beforeAll(async () => {
    tests = await collectedTests(Object.keys(showingTests))
  }, 130_000)

  test.for(threats.map(threat => [titleOf(threat), threat] as const))('%s', ([, threat], { skip }) => {
    const by = shownBy(threat)
    expect(new Set(by.map(({ file }) => file))).toEqual(new Set(threat.links))
    const { missing, lacking } = shown(by, tests)
    expect(missing).toEqual([])
    if (lacking.length) skip(inWords(lacking))
  })

  describe('as planted tests show', () => {
    const file = 'security/planted/planted-tests.ts'
    let found: CollectedTest[] = []
    beforeAll(async () => {
      found = await collectedTests([file], 'test/security/planted/vitest.config.ts')
    }, 130_000)
    const never: Need = { what: 'what no machine has', isHere: () => false }
    const planted = (...titles: string[]) => {
      const by = titles.map(title => ({ file, title }))
      return shown(by, found, tags => (tags.includes('never-here') ? [never] : []))
    }

    test('and not by one that is skipped, left to do, or called a little otherwise', () => {
      const missing = (...titles: string[]) => planted(...titles).missing.length
      expect([missing('one that runs'), missing('one that …'), missing('a row of a')]).toEqual([0, 0, 0])
      expect(missing('one that runs ', 'One that runs', 'that runs', 'one that is skipped', 'one left to do')).toBe(5)
      expect(missing('in what is skipped', 'one in what is skipped', 'a row of %s', 'only where asked for')).toBe(4)
    })

    test('a test that is skipped for a need is not missing: its row says what brings it', () => {
      expect(planted('one that needs something')).toEqual({ missing: [], lacking: [never] })
    })
  })
})

describe('the page', () => {
  const known = new Set(threats.map(({ id }) => id))

  test('has a row for every id in the tables, and none twice', () => {
    const shown = Object.values(showingTests).flatMap(titles => Object.values(titles).flatMap(ids => ids.split(' ')))
    expect(new Set(shown)).toEqual(known)
    expect(known.size).toBe(threats.length)
    expect(threats).toHaveLength(securityPage.match(/^\| [A-Z]?\d+ \|/gm)?.length ?? 0)
  })

  test('explains every id that a test is called by', () => {
    // Other letters name cells of sheets, keys and layers.
    const letters = [...new Set(threats.map(({ id }) => id.replace(/\d+$/, '')))].join('')
    const named = new RegExp(`(?<=['"\`( ])[${letters}]\\d{1,2}(?=[:, )'"\`])`, 'g')
    const used = globSync('test/**/*.ts', { cwd: root, exclude: ['test/security/**'] }).flatMap(path =>
      (readFileSync(`${root}${path}`, 'utf8').match(named) ?? []).map(id => `${path}: ${id}`),
    )
    expect(used.length).toBeGreaterThan(50)
    expect(used.filter(each => !known.has(each.slice(each.lastIndexOf(' ') + 1)))).toEqual([])
  })
})
