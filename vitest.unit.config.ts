import { availableParallelism } from 'node:os'
import { mergeConfig } from 'vitest/config'
import { unitTests } from './test/layers.ts'
import LongestFirst from './test/longest-first.ts'
import all from './vitest.config.ts'

/** `npm test`: what stays in one process. The files share one too: loading the modules anew for each takes longer than they. */
export default mergeConfig(
  { ...all, test: { ...all.test, include: [] } },
  // One worker more than processors computes while another waits for its disk, its threads or a timer.
  {
    test: {
      include: unitTests,
      sequence: { sequencer: LongestFirst },
      isolate: false,
      maxWorkers: availableParallelism() + 1,
      setupFiles: ['test/writer-in-process.ts'],
    },
  },
)
