import { readFileSync } from 'node:fs'
import { clientTests } from './shown/client-tests.ts'
import { pageTests } from './shown/page-tests.ts'
import { namedAsRow, serviceTests } from './shown/service-tests.ts'

/** A row of `docs/security.md`: an attack, its result and the tests that show it. */
export interface Threat {
  /** A letter and a number; of a published attack its number alone. */
  id: string
  threat: string
  answer: string
  /** The files that the row links, below `test/`. */
  links: readonly string[]
}

/**
 * By file below `test/`: the titles of tests, or of what they are described in, with the ids of the rows that each
 * shows. A title that ends with `…` is the beginning of one.
 */
export type ShowingTests = Readonly<Record<string, Readonly<Record<string, string>>>>

export const showingTests: ShowingTests = { ...clientTests, ...serviceTests, ...pageTests }

export const securityPage = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8')

/** In the order of the page. */
export const threats: readonly Threat[] = securityPage
  .matchAll(/^\| (?<id>[A-Z]?\d+) \| (?<threat>.+?) \| (?<answer>.+?) \| (?<links>.+) \|$/gm)
  .map(({ groups: { id = '', threat = '', answer = '', links = '' } = {} }) => ({
    ...{ id, threat, answer },
    links: links
      .matchAll(/\]\(\.\.\/test\/([^)]+)\)/g)
      .map(([, file = '']) => file)
      .toArray(),
  }))
  .toArray()

export const titleOf = ({ id, threat, answer }: Threat): string => `${id}: ${threat} → ${answer}`

/** The tests that show a row, by file and title. */
export const shownBy = (threat: Threat, tests = showingTests): { file: string; title: string }[] =>
  Object.entries(tests).flatMap(([file, titles]) =>
    Object.entries(titles)
      .filter(([, ids]) => ids.split(' ').includes(threat.id))
      .map(([title]) => ({ file, title: title === namedAsRow ? titleOf(threat) : title })),
  )

/** The rows for which a file has a test that is named as the row. */
export const threatsNamedIn = (file: string): Threat[] =>
  threats.filter(threat => shownBy(threat).some(each => each.file === file && each.title === titleOf(threat)))
