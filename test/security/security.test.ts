/** Every row of `docs/security.md` is a row of the tables here, and is shown by tests that exist and run. */
import { globSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { inWords, lackingOf, type Need } from '../needs/needs.ts'
import { accountThreats } from './account-threats.ts'
import { browserWalletThreats } from './browser-wallet-threats.ts'
import { type CollectedTest, collectedTests } from './collected-tests.ts'
import { consoleThreats } from './console-threats.ts'
import { doorThreats } from './door-threats.ts'
import { httpThreats } from './http-threats.ts'
import { otherThreats } from './other-threats.ts'
import { paymentThreats } from './payment-threats.ts'
import { publishedAttacks } from './published-attacks.ts'
import { type Threat, titleOf } from './threat.ts'
import { videoThreats } from './video-threats.ts'
import { walletThreats } from './wallet-threats.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const all = [
  ...paymentThreats,
  ...otherThreats,
  ...walletThreats,
  ...httpThreats,
  ...videoThreats,
  ...doorThreats,
  ...consoleThreats,
  ...browserWalletThreats,
  ...accountThreats,
  ...publishedAttacks,
]

/** Whether the name is the title, or begins with it where that is only its beginning. */
const isNamed = (name: string, title: string) =>
  title.endsWith('…') ? name.startsWith(title.slice(0, -1)) : name === title

interface Shown {
  /** Titles of the row under which no test runs, and none would if what it needs were here. */
  missing: string[]
  /** What tests of it need that this machine has not. */
  lacking: Need[]
}

function shown(threat: Threat, tests: readonly CollectedTest[], needsOf = lackingOf): Shown {
  const missing: string[] = []
  const lacking = new Set<Need>()
  for (const { file, titles } of threat.shownBy) {
    for (const title of titles.length > 0 ? titles : [titleOf(threat)]) {
      const named = tests.filter(each => each.file === file && each.names.some(name => isNamed(name, title)))
      if (named.some(({ isSkipped }) => !isSkipped)) continue
      const needs = named.flatMap(({ tags }) => needsOf(tags))
      if (needs.length === 0) missing.push(`${file}: ${title}`)
      for (const need of needs) lacking.add(need)
    }
  }
  return { missing, lacking: [...lacking] }
}

describe('a row is shown by tests that run', () => {
  let tests: CollectedTest[] = []
  beforeAll(async () => {
    tests = await collectedTests([...new Set(all.flatMap(({ shownBy }) => shownBy.map(({ file }) => file)))])
  }, 130_000)

  test.for(all.map(threat => [titleOf(threat), threat] as const))('%s', ([, threat], { skip }) => {
    expect(threat.shownBy.length).toBeGreaterThan(0)
    const { missing, lacking } = shown(threat, tests)
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
      const row = { id: 'X0', threat: 'a threat', answer: 'an answer', shownBy: [{ file, titles }] }
      return shown(row, found, tags => (tags.includes('never-here') ? [never] : []))
    }

    test('and not by one that is skipped, left to do, or called a little otherwise', () => {
      const missing = (...titles: string[]) => planted(...titles).missing.length
      expect([missing('one that runs'), missing('one that …'), missing('a row of a'), missing()]).toEqual([0, 0, 0, 0])
      expect(missing('one that runs ', 'One that runs', 'that runs', 'one that is skipped', 'one left to do')).toBe(5)
      expect(missing('in what is skipped', 'one in what is skipped', 'a row of %s', 'only where asked for')).toBe(4)
    })

    test('a test that is skipped for a need is not missing: its row says what brings it', () => {
      expect(planted('one that needs something')).toEqual({ missing: [], lacking: [never] })
    })
  })
})

describe('the page', () => {
  let page = ''
  beforeAll(async () => {
    page = await readFile(`${root}docs/security.md`, 'utf8')
  })

  test.each([
    ['payments', paymentThreats],
    ['sign-ins, keys and the service', otherThreats],
    ['the wallet', walletThreats],
    ['requests over HTTP', httpThreats],
    ['video jobs', videoThreats],
    ['files, relayed calls, keys and figures', doorThreats],
    ['the operators’ console', consoleThreats],
    ['wallets of the browser', browserWalletThreats],
    ['published attacks', publishedAttacks],
  ])('has the rows about %s as they are here', (_what, threats) => {
    expect(linesOf(threats).filter(line => !page.includes(`${line}\n`))).toEqual([])
  })

  test('has no row that is not here, and none twice', () => {
    const ids = page.match(/^\| (?:[A-Z]?\d+) (?=\|)/gm)?.map(cell => cell.slice(2, -1))
    expect(ids).toEqual(all.map(({ id }) => id))
    expect(new Set(ids).size).toBe(all.length)
  })

  test('explains every id that a test is called by', () => {
    const known = new Set(all.map(({ id }) => id))
    // Other letters name cells of sheets, keys and layers.
    const letters = [...new Set(all.map(({ id }) => id.replace(/\d+$/, '')))].join('')
    const named = new RegExp(`(?<=['"\`( ])[${letters}]\\d{1,2}(?=[:, )'"\`])`, 'g')
    const used = globSync('test/**/*.ts', { cwd: root, exclude: ['test/security/**'] }).flatMap(path =>
      (readFileSync(`${root}${path}`, 'utf8').match(named) ?? []).map(id => `${path}: ${id}`),
    )
    expect(used.length).toBeGreaterThan(50)
    expect(used.filter(each => !known.has(each.slice(each.lastIndexOf(' ') + 1)))).toEqual([])
  })
})

/** As the page has them, with a link for each file. */
function linesOf(threats: readonly Threat[]): string[] {
  const link = (file: string) => `[${/([^/]+)\.test\.ts$/.exec(file)?.[1]}](../test/${file})`
  return threats.map(({ id, threat, answer, shownBy }) => {
    const files = [...new Set(shownBy.map(({ file }) => file))]
    return `| ${id} | ${threat} | ${answer} | ${files.map(link).join(', ')} |`
  })
}
