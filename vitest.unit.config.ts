import { mergeConfig } from 'vitest/config'
import { unitTests } from './test/layers.ts'
import all from './vitest.config.ts'

/** `npm test`: what stays in one process. The files share one too: loading the modules anew for each takes longer than they. */
export default mergeConfig(
  { ...all, test: { ...all.test, include: [] } },
  { test: { include: unitTests, isolate: false } },
)
