import { createServer } from 'node:net'

/**
 * The port when nobody listens on it, else null; 0 picks one. Anvil, when quiet, does not tell which one it took, and
 * one that lost its port to another anvil could be mistaken for that other before it has ended.
 */
export function findFreePort(port: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null)
      else reject(error)
    })
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? null) : null))
    })
  })
}
