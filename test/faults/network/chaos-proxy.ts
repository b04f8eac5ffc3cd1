import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** What becomes of bytes on their way; each connection keeps the trouble that it was opened in, but for a cut of all. */
export type Trouble =
  | { kind: 'none' }
  | { kind: 'latency'; ms: number }
  /** Both ends are reset once so many bytes have come back. */
  | { kind: 'cut'; afterBytes: number }
  /** Bytes go in, and none come back. */
  | { kind: 'black hole' }
  /** Everything is sent once more over a second connection, whose answers are not read. */
  | { kind: 'twice' }
  | { kind: 'refused' }

/** A way to a server on this machine, with troubles as a network has them. */
export class ChaosProxy {
  trouble: Trouble = { kind: 'none' }
  /** Connections that met a trouble. */
  troubled = 0
  readonly #server: Server
  readonly #port: number
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, port: number) {
    this.#server = server
    this.#port = port
  }

  static async to(port: number): Promise<ChaosProxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new ChaosProxy(server, port)
    server.on('connection', client => proxy.#join(client))
    return proxy
  }

  get port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('A listening server has an address.')
    return address.port
  }

  /** Resets every connection there is, in the middle of whatever it says. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  async close(): Promise<void> {
    this.cutAll()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket): void {
    const { trouble } = this
    if (trouble.kind !== 'none') this.troubled++
    if (trouble.kind === 'refused') return void client.resetAndDestroy()
    const server = this.#open()
    const twin = trouble.kind === 'twice' ? this.#open() : null
    twin?.resume()
    const delayMs = trouble.kind === 'latency' ? trouble.ms : 0
    this.#follow(delayMs, client, server, twin)
    client.on('data', bytes => {
      later(delayMs, () => server.write(bytes))
      twin?.write(bytes)
    })
    let left = trouble.kind === 'cut' ? trouble.afterBytes : Number.POSITIVE_INFINITY
    server.on('data', bytes => {
      if (trouble.kind === 'black hole') return
      left -= bytes.length
      if (left >= 0) return later(delayMs, () => client.write(bytes))
      client.write(bytes.subarray(0, bytes.length + left))
      client.resetAndDestroy()
      server.resetAndDestroy()
    })
  }

  #open(): Socket {
    return connect(this.#port, '127.0.0.1')
  }

  /** All of them end together, after what is on its way. */
  #follow(delayMs: number, ...sockets: (Socket | null)[]): void {
    const together = sockets.filter(socket => socket !== null)
    for (const socket of together) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        later(delayMs, () => {
          for (const other of together) other.destroySoon()
        })
      })
    }
  }
}

function later(ms: number, run: () => void): void {
  if (ms === 0) run()
  else setTimeout(run, ms)
}
