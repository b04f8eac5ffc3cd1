import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** Said by every server of the protocol (RFC 6455). */
const protocolId = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Who listens over a WebSocket, as far as a server that only speaks needs to know. */
export class Listeners {
  readonly #sockets = new Set<Duplex>()

  take(request: IncomingMessage, socket: Duplex): void {
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${protocolId}`).digest('base64')
    const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
    socket.write(`${[...head, `Sec-WebSocket-Accept: ${accept}`].join('\r\n')}\r\n\r\n`)
    this.#sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket))
  }

  /** One message to all, short enough for the shortest form of its length. */
  tell(message: object): void {
    const text = Buffer.from(JSON.stringify(message))
    for (const socket of this.#sockets) socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]))
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
