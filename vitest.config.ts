import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { tagsOfNeeds } from './test/needs/needs.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The source runs as Node runs it: no module is transformed, and no import goes through an object of the runner.
    experimental: { viteModuleRunner: false },
    // Processes, not threads: tests own their environment, their working folder and the writer's worker thread.
    pool: 'forks',
    // Nine tenths of the time go by in waiting for chains, databases and processes, so two at once pay on two cores too.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    setupFiles: ['test/canary/each-file.ts', 'test/own-notes.ts', 'test/cheap-passwords.ts'],
    // A test that needs more than Node names it by a tag, which skips it where that is missing.
    tags: tagsOfNeeds(process.env.FAREBOX_TEST_ALL === '1'),
    reporters: ['default', './test/needs/list-skipped.ts'],
    // Secrets of tests are looked for in all that a run leaves; the end of it reads what is left.
    globalSetup: ['test/canary/whole-run.ts'],
    teardownTimeout: 120_000,
    // Tests that start a chain or a server say so themselves; a plain test that needs longer than this is stuck.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What a test waits for comes in milliseconds, unless the machine is busy with other tests.
    expect: { poll: { timeout: 10_000 } },
  },
})
