import { afterEach } from 'vitest'

/** Registers functions that close what a test opened; they run after each test, in reverse order. */
export function closedAfterEach(): (() => unknown)[] {
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  return closing
}
