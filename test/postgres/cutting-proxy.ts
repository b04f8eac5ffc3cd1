/** A way to a server that can be cut at the worst moment: the statement has arrived and its answer is on the way back. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class CuttingProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #cutNext = false
  #isClosed = false
  /** Answers that never arrived. */
  cuts = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async to(port: number): Promise<CuttingProxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new CuttingProxy(server)
    server.on('connection', client => proxy.#join(client, port))
    return proxy
  }

  get port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('A listening server has an address.')
    return address.port
  }

  /** The next answer of the server is dropped, and its connection with it. */
  cutNextAnswer(): void {
    this.#cutNext = true
  }

  /** From now on no connection gets through. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  /** What happens between a commit and the loss of its answer. */
  beforeCut = async (): Promise<unknown> => undefined

  /** Whether connections are refused from the next cut on, so that nothing can be retried. */
  closesWithCut = false

  #join(client: Socket, port: number): void {
    if (this.#isClosed) return void client.destroy()
    const server = connect(port, '127.0.0.1')
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        client.destroy()
        server.destroy()
      })
    }
    client.on('data', bytes => server.write(bytes))
    server.on('data', bytes => {
      if (!this.#cutNext) return void client.write(bytes)
      this.#cutNext = false
      this.cuts++
      void this.beforeCut().finally(() => {
        client.destroy()
        if (this.closesWithCut) void this.close()
      })
    })
  }
}
