import { randomBytes } from 'node:crypto'
import { type HttpServing, serveHttp } from '#mcp/http/serve.ts'
import { fakeHost } from '../../mcp/fake-host.ts'
import { catalogue, listing } from './fixture-catalogue.ts'
import { taskHost } from './task-host.ts'
import { wireDeprecated } from './wire-deprecated.ts'

/** Our own frame over the suite's names, on a port of loopback. The suite shows no token. */
export async function serveFixtures(log: (line: string) => void): Promise<HttpServing> {
  const stateKey = randomBytes(32)
  wireDeprecated(stateKey)
  let nowMs = Date.now()
  return serveHttp({
    name: 'farebox-fixtures',
    version: '0.0.0',
    catalogue,
    listing,
    stateKey,
    host: async () => ({ ...fakeHost().host, ...taskHost }),
    port: 0,
    isToken: () => true,
    // Each look is a second later, so that reports in a row are not dropped for coming too fast.
    clock: { now: () => (nowMs += 1000) },
    log,
  })
}
