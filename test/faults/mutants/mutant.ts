/** A plausible mistake, as a change to the source, and the check that must notice it. */
export interface Mutant {
  name: string
  patches: readonly Patch[]
  check: Check
}

export interface Patch {
  /** From the root of the repository. */
  file: string
  /** Stands in the file exactly once. */
  find: string
  replace: string
}

export type Check =
  /** A file of tests, and what the title of one of them has in it. */
  | { tests: string; title?: string }
  /** Arguments of `npm run faults`, and what one of its findings has to say where not every finding will do. */
  | { faults: readonly string[]; says?: string }

export const mutant = (name: string, check: Check, ...patches: Patch[]): Mutant => ({ name, patches, check })

/** Without `replace`, what was found is removed. */
export const change = (file: string, find: string, replace = ''): Patch => ({ file, find, replace })

export const checkWords = (check: Check): string =>
  'tests' in check
    ? `vitest run ${check.tests}${check.title ? ` -t '${check.title}'` : ''}`
    : `faults ${check.faults.join(' ')}`

/** The file with the mistake in it. Throws a sentence where the source has moved on, and the patch has to follow. */
export function patched(source: string, { file, find, replace }: Patch): string {
  const places = source.split(find).length - 1
  if (places !== 1) throw new Error(`The patch of ${file} fits ${places} times, not once: ${find}`)
  return source.replace(find, () => replace)
}
