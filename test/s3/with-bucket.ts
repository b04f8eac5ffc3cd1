import { afterAll, beforeAll, describe } from 'vitest'
import { CephServer } from './ceph-server.ts'
import { type S3Server, SwiftServer } from './swift-server.ts'

/** Several servers start on a busy machine. */
const startTimeoutMs = 180_000

const servers = {
  swift: () => SwiftServer.start(),
  ceph: () => CephServer.start(),
}

/** Tests with one server of a kind for all of them, which they get by calling. */
export function withBucketServer(
  name: string,
  kind: keyof typeof servers,
  tests: (server: () => S3Server) => void,
): void {
  describe(name, { tags: [kind] }, () => {
    let server: S3Server | undefined
    beforeAll(async () => {
      server = await servers[kind]()
    }, startTimeoutMs)
    afterAll(async () => server?.stop(), startTimeoutMs)
    tests(() => {
      if (!server) throw new Error('The server is there once tests run.')
      return server
    })
  })
}
