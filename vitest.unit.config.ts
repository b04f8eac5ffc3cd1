import { mergeConfig } from 'vitest/config'
import { unitTests } from './test/layers.ts'
import all from './vitest.config.ts'

/** `npm test`: what stays in one process. */
export default mergeConfig({ ...all, test: { ...all.test, include: [] } }, { test: { include: unitTests } })
