import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe } from 'vitest'

/** A start on a busy machine. */
const startTimeoutMs = 60_000

/**
 * Tests with one browser for all of them, the system's own, which they get by calling. Skipped where this machine has no
 * Chromium, but for FAREBOX_TEST_ALL=1: then they fail, so that nobody believes they ran.
 */
export function withChromium(name: string, tests: (browser: () => Browser) => void): void {
  const program = findChromium()
  const isWanted = program !== null || process.env.FAREBOX_TEST_ALL === '1'
  describe.skipIf(!isWanted)(name, () => {
    let browser: Browser | undefined
    beforeAll(async () => {
      if (program === null) throw new Error('There is no chromium in the PATH.')
      browser = await chromium.launch({ executablePath: program, args: launchArguments, timeout: startTimeoutMs })
    }, startTimeoutMs)
    afterAll(async () => browser?.close(), startTimeoutMs)
    tests(() => {
      if (!browser) throw new Error('The browser is there once tests run.')
      return browser
    })
  })
}

/** Nothing of its maker's is asked for; in a container without user namespaces it cannot have its own sandbox. */
const launchArguments = ['--no-sandbox', '--disable-background-networking', '--disable-dev-shm-usage']

function findChromium(): string | null {
  const names = ['chromium', 'chromium-browser']
  const places = (process.env.PATH ?? '').split(delimiter).flatMap(folder => names.map(each => join(folder, each)))
  return places.find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
