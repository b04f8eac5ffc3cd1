import { defineConfig } from 'vitest/config'

/** Finds the planted tests alone, which are no part of a plain run. */
export default defineConfig({
  test: { include: ['test/security/planted/planted-tests.ts'], tags: [{ name: 'never-here', skip: true }] },
})
