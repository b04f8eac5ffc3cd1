/** Writes what vitest would do with the tests of some files: `node list-tests.ts OUTPUT CONFIG FILE…`. Nothing of them runs. */
import { writeFile } from 'node:fs/promises'
import { createVitest } from 'vitest/node'
import type { CollectedTest } from './collected-tests.ts'

const [, , output = '', config = '', ...files] = process.argv

// One process without isolation reads every file's imports once.
const vitest = await createVitest('test', { config, watch: false, isolate: false, maxWorkers: 1 })
const { testModules, unhandledErrors } = await vitest.collect([...files], { staticParse: false })
const errors = [...unhandledErrors, ...testModules.flatMap(module => module.errors())]
if (errors[0]) throw new Error(`A file could not be read: ${JSON.stringify(errors[0])}`)
const tests = testModules.flatMap(({ children, relativeModuleId }) =>
  [...children.allTests()].map((test): CollectedTest => {
    const isSkipped = test.result().state === 'skipped'
    return { file: relativeModuleId, names: test.fullName.split(' > '), isSkipped, tags: test.tags }
  }),
)
await writeFile(output, JSON.stringify(tests))
await vitest.close()
