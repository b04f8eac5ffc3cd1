import { afterAll, beforeAll, describe } from 'vitest'
import { Cluster } from './cluster.ts'

/** A start on a busy machine: `initdb` writes some 40 MB. */
const startTimeoutMs = 60_000

/**
 * Tests with one server for all of them, which they get by calling.
 */
export function withPostgres(name: string, tests: (cluster: () => Cluster) => void): void {
  describe(name, { tags: ['postgresql'] }, () => {
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
