import { afterAll, beforeAll, describe } from 'vitest'
import { Cluster, findServer } from './cluster.ts'

/** A start on a busy machine: `initdb` writes some 40 MB. */
const startTimeoutMs = 60_000

/**
 * Tests with one server for all of them, which they get by calling. Skipped where this machine has no PostgreSQL, but for
 * FAREBOX_TEST_ALL=1: then they fail, so that nobody believes they ran.
 */
export function withPostgres(name: string, tests: (cluster: () => Cluster) => void): void {
  const isWanted = findServer() !== null || process.env.FAREBOX_TEST_ALL === '1'
  describe.skipIf(!isWanted)(name, () => {
    let cluster: Cluster | undefined
    beforeAll(async () => {
      cluster = await Cluster.start()
    }, startTimeoutMs)
    afterAll(async () => cluster?.stop(), startTimeoutMs)
    tests(() => {
      if (!cluster) throw new Error('The server is there once tests run.')
      return cluster
    })
  })
}
