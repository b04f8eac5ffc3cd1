import { afterEach } from 'vitest'

/** Takes what closes things that the tests of a file open; after each test they are closed, the last one first. */
export function closedAfterEach(): (() => unknown)[] {
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  return closing
}
