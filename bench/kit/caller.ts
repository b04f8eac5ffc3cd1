import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * One connection of a caller, with as little between it and the socket as possible: the load must not be what is measured.
 * It sends one request at a time.
 */
export class Caller {
  readonly #socket: Socket
  #onData: (data: Buffer) => void = () => undefined
  #onEnd: (error: Error) => void = () => undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', data => this.#onData(data))
    socket.on('error', error => this.#onEnd(error))
    socket.on('close', () => this.#onEnd(new Error('The server closed the connection before its answer was whole.')))
  }

  static async open(port: number): Promise<Caller> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new Caller(socket)
  }

  /** Resolves to the whole answer, head and body. Rejects where it is not 200. */
  request(bytes: Buffer): Promise<string> {
    return new Promise((resolve, reject) => {
      let answer = ''
      this.#onEnd = reject
      this.#onData = data => {
        answer += data.toString('latin1')
        if (!isWhole(answer)) return
        if (answer.startsWith('HTTP/1.1 200')) resolve(answer)
        else reject(new Error(`A request was answered: ${answer.slice(0, 2_000)}`))
      }
      this.#socket.write(bytes)
    })
  }

  /** Calls `onData` with every piece of the answer; resolves once its last chunk was received. */
  stream(bytes: Buffer, onData: (text: string) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      let isFirst = true
      let last = ''
      this.#onEnd = reject
      this.#onData = data => {
        const text = data.toString('latin1')
        if (isFirst && !text.startsWith('HTTP/1.1 200'))
          return reject(new Error(`A stream was answered: ${text.slice(0, 2_000)}`))
        isFirst = false
        onData(text)
        last = (last + text).slice(-7)
        if (last === '\r\n0\r\n\r\n') resolve()
      }
      this.#socket.write(bytes)
    })
  }

  /** Sends a request and reads nothing of its answer. */
  sendOnly(bytes: Buffer): void {
    this.#onEnd = () => undefined
    this.#socket.pause()
    this.#socket.write(bytes)
  }

  close(): void {
    this.#onEnd = () => undefined
    this.#socket.destroy()
  }
}

function isWhole(answer: string): boolean {
  const headEnd = answer.indexOf('\r\n\r\n')
  if (headEnd < 0) return false
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(answer.slice(0, headEnd)) ?? []
  return length === undefined ? answer.endsWith('\r\n0\r\n\r\n') : answer.length >= headEnd + 4 + Number(length)
}

/** The bytes of a POST of JSON. */
export function post(path: string, headers: Readonly<Record<string, string>>, body: object): Buffer {
  const text = JSON.stringify(body)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n${lines.join('')}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}
