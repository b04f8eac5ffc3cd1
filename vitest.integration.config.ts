import { mergeConfig } from 'vitest/config'
import { integrationTests } from './test/layers.ts'
import all from './vitest.config.ts'

/** `npm run test:integration`: chains, databases, browsers and other processes. */
export default mergeConfig({ ...all, test: { ...all.test, include: [] } }, { test: { include: integrationTests } })
