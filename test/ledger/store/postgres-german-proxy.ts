/** Stands between a store and its database, and has every error speak German, as a server with `lc_messages = de_DE` does. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

const errorType = 'E'.charCodeAt(0)
const headBytes = 5

export class GermanProxy {
  readonly port: number
  /** Errors that were translated. */
  errors = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, port: number) {
    this.#server = server
    this.port = port
  }

  static async to(port: number): Promise<GermanProxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('A listening server has an address.')
    const proxy = new GermanProxy(server, address.port)
    server.on('connection', client => proxy.#join(client, connect(port, '127.0.0.1')))
    return proxy
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket, database: Socket): void {
    for (const socket of [client, database]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        client.destroy()
        database.destroy()
      })
    }
    client.pipe(database)
    let rest: Buffer = Buffer.alloc(0)
    database.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      while (rest.length >= headBytes && rest.length > rest.readInt32BE(1)) {
        const end = 1 + rest.readInt32BE(1)
        client.write(this.#translated(rest.subarray(0, end)))
        rest = rest.subarray(end)
      }
    })
  }

  #translated(message: Buffer): Buffer {
    if (message[0] !== errorType) return message
    this.errors++
    const fields = message
      .toString('utf8', headBytes)
      .split('\0')
      .map(field => {
        if (field.startsWith('S')) return 'SFEHLER'
        return field.startsWith('M') ? 'Meine Zeile verletzt eine Bedingung' : field
      })
    const body = Buffer.from(fields.join('\0'))
    const head = Buffer.alloc(headBytes, errorType)
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, body])
  }
}
