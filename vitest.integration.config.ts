import { availableParallelism } from 'node:os'
import { mergeConfig } from 'vitest/config'
import { integrationTests } from './test/layers.ts'
import LongestFirst from './test/longest-first.ts'
import all from './vitest.config.ts'

/** `npm run test:integration`: chains, databases, browsers and other processes. */
export default mergeConfig(
  { ...all, test: { ...all.test, include: [] } },
  {
    test: {
      include: integrationTests,
      // As in the other layer: loading the modules anew for each file takes a sixth of the processor time.
      isolate: false,
      sequence: { sequencer: LongestFirst },
      // One worker more than processors computes while the others wait for what takes its time: leases, retries, blocks
      // of a chain.
      maxWorkers: availableParallelism() + 1,
      // All of them share the machine with the processes that they start.
      testTimeout: 60_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 30_000 } },
    },
  },
)
