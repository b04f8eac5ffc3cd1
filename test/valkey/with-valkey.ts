import { afterAll, beforeAll, describe } from 'vitest'
import { ValkeyServer } from './valkey-server.ts'

const startTimeoutMs = 60_000

/**
 * Tests with one server for all of them, which they get by calling.
 */
export function withValkey(name: string, tests: (server: () => ValkeyServer) => void): void {
  describe(name, { tags: ['valkey'] }, () => {
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
