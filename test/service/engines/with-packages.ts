import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * Whether tests of an engine run that takes these optional packages: where they are, and everywhere with
 * FAREBOX_TEST_ALL=1, where a missing one is a failure.
 */
export const withPackages = (...names: string[]): boolean =>
  process.env.FAREBOX_TEST_ALL === '1' || names.every(isThere)

function isThere(name: string): boolean {
  try {
    require.resolve(name)
    return true
  } catch (error) {
    // A package for imports alone has no answer for `require`, and is there all the same.
    return (error as NodeJS.ErrnoException).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED'
  }
}
