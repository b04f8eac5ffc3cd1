import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe } from 'vitest'
import { findChromium } from '../needs/find-program.ts'

/** A start on a busy machine. */
const startTimeoutMs = 60_000

/**
 * Tests with one browser for all of them, the system's own, which they get by calling.
 */
export function withChromium(name: string, tests: (browser: () => Browser) => void): void {
  const program = findChromium()
  describe(name, { tags: ['chromium'] }, () => {
    let browser: Browser | undefined
    beforeAll(async () => {
      if (program === null) throw new Error('There is no Chromium in the PATH.')
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
