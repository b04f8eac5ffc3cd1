import { afterAll, beforeAll, describe } from 'vitest'
import { findValkey, ValkeyServer } from './valkey-server.ts'

const startTimeoutMs = 60_000

/**
 * Tests with one server for all of them, which they get by calling. Skipped where this machine has no Valkey or Redis,
 * but for FAREBOX_TEST_ALL=1: then they fail, so that nobody believes they ran.
 */
export function withValkey(name: string, tests: (server: () => ValkeyServer) => void): void {
  const isWanted = findValkey() !== null || process.env.FAREBOX_TEST_ALL === '1'
  describe.skipIf(!isWanted)(name, () => {
    let server: ValkeyServer | undefined
    beforeAll(async () => {
      server = await ValkeyServer.start()
    }, startTimeoutMs)
    afterAll(async () => server?.stop(), startTimeoutMs)
    tests(() => {
      if (!server) throw new Error('The server is there once tests run.')
      return server
    })
  })
}
