/** An attack, its result and the tests that show it: the rows of `docs/security.md`. */
export interface Threat {
  /** A letter and a number; of a published attack its number alone. */
  id: string
  threat: string
  answer: string
  shownBy: readonly Shown[]
}

export interface Shown {
  /** Below `test/`. */
  file: string
  /** Of tests, or of what they are described in; the beginning of some where they end with `…`. */
  titles: readonly string[]
}

/** Without titles: by the test of that file which is named as the row. */
export const shown = (file: string, ...titles: string[]): Shown => ({ file, titles })

export const titleOf = ({ id, threat, answer }: Threat): string => `${id}: ${threat} → ${answer}`
