import { type Readable, Transform, type TransformCallback, type Writable } from 'node:stream'
import { type JSONRPCMessage, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { idCharacters, messageBytes, stopMs } from './bounds.ts'
import { Deliveries } from './context.ts'
import { type EndpointOptions, openEndpoint } from './endpoint.ts'
import { logFault } from './faults.ts'
import type { Era } from './server.ts'

interface ServeMcp extends EndpointOptions {
  /** Defaults to the process's own. */
  input?: Readable
  output?: Writable
}

interface McpSession {
  /** Resolves when the client has gone, calls in flight have stopped and the host is closed. Never rejects. */
  closed: Promise<void>
  close(): Promise<void>
}

/** Serves MCP on stdio until the client closes it. */
export function serveMcp({ input, output, ...options }: ServeMcp): McpSession {
  const frame = openEndpoint(options)
  const deliveries = new Deliveries()
  const connection = connectStdio(era => frame.serverFor(deliveries, era), {
    ...(input ? { input } : {}),
    ...(output ? { output } : {}),
    onError: error => logFault(frame.log, 'transport', error),
    onWritten: message => deliveries.written(message),
  })
  const closed = connection.closed.then(() => frame.calls.settled(stopMs)).then(() => frame.close())
  return {
    closed,
    async close() {
      await connection.close()
      await closed
    },
  }
}

interface StdioConnection {
  /** Resolves when the client has gone or `close` was called. */
  closed: Promise<void>
  close(): Promise<void>
}

interface StdioOptions {
  input?: Readable
  output?: Writable
  onError(error: Error): void
  /** Called once a message has been handed to the system. */
  onWritten(message: object): void
}

/**
 * The only place that writes to stdout: JSON-RPC, one message a line. Serves every protocol from 2024-10 to 2026-07.
 */
function connectStdio(
  makeServer: (era: Era) => Server,
  { input, output, onError, onWritten }: StdioOptions,
): StdioConnection {
  const lines = new LineBound({ onTooLong: id => void transport.send(tooLong(id)).catch(onError) })
  // A line just over the limit arrives whole, after the rest of the chunk before it.
  const transport = new StdioServerTransport(lines, output, { maxBufferSize: messageBytes + pipeBytes })
  const send = transport.send.bind(transport)
  transport.send = async message => {
    await send(message)
    try {
      onWritten(message)
    } catch (error) {
      // The client has the result; failing to record that is no reason to send it again.
      onError(error as Error)
    }
  }
  const source = input ?? process.stdin
  source.on('error', error => lines.destroy(error))
  source.pipe(lines)
  const handle = serveStdio(({ era }) => makeServer(era), { transport, onerror: onError })
  const closed = new Promise<void>(resolve => {
    const tearDown = transport.onclose
    transport.onclose = () => {
      source.unpipe(lines)
      source.pause()
      tearDown?.()
      resolve()
    }
  })
  return { closed, close: () => handle.close() }
}

/** The most that a pipe delivers at once; it may contain the ends of several lines. */
const pipeBytes = 1024 * 1024

/** JSON-RPC uses a null id if the id is unknown; the protocol's own type does not allow it. */
const tooLong = (id: string | number | null) =>
  ({
    jsonrpc: '2.0',
    id,
    error: {
      code: ProtocolErrorCode.InvalidRequest,
      message: `The message is larger than ${messageBytes} bytes and was ignored. Pass files by path instead of content.`,
    },
  }) as JSONRPCMessage

interface WholeLines {
  /** Called once per overlong line, with its request's id if the id is visible at either end of the line. */
  onTooLong(id: string | number | null): void
  mostBytes?: number
}

/**
 * Passes on whole lines. An overlong line is discarded as it arrives, so that memory stays bounded and later lines are
 * served.
 */
export class LineBound extends Transform {
  readonly #options: Required<WholeLines>
  #pieces: Buffer[] = []
  #bytes = 0
  /** The first and last characters of the line that is being discarded. */
  #thrown: { head: string; tail: string } | null = null

  constructor(options: WholeLines) {
    super()
    this.#options = { mostBytes: messageBytes, ...options }
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    for (let rest = chunk; rest.byteLength > 0; ) {
      const end = rest.indexOf(newline)
      const piece = end < 0 ? rest : rest.subarray(0, end + 1)
      rest = end < 0 ? rest.subarray(rest.byteLength) : rest.subarray(end + 1)
      this.#take(piece, end >= 0)
    }
    done()
  }

  override _flush(done: TransformCallback): void {
    if (!this.#thrown && this.#bytes > 0) this.push(this.#taken())
    done()
  }

  #take(piece: Buffer, isEnd: boolean): void {
    if (this.#thrown) this.#thrown.tail = lastOf(this.#thrown.tail + lastOf(piece.toString('latin1')))
    else {
      this.#pieces.push(piece)
      this.#bytes += piece.byteLength
      if (this.#bytes > this.#options.mostBytes) {
        const whole = this.#taken()
        const [head, tail] = [whole.subarray(0, idCharacters), whole.subarray(-idCharacters)]
        this.#thrown = { head: head.toString('latin1'), tail: tail.toString('latin1') }
      }
    }
    if (!isEnd) return
    if (!this.#thrown) return void this.push(this.#taken())
    const id = idIn(this.#thrown)
    this.#thrown = null
    this.#options.onTooLong(id)
  }

  #taken(): Buffer {
    const whole = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#bytes = 0
    return whole ?? Buffer.alloc(0)
  }
}

const newline = 0x0a

const lastOf = (text: string): string => text.slice(-idCharacters)

const id = String.raw`"id"\s*:\s*(\d{1,15}|"[\w.:-]{1,100}")\s*`
/** The id before the parameters, or as the last member after them. Anywhere else it may belong to a nested value. */
const atHead = new RegExp(String.raw`^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*${id}[,}]`)
const atTail = new RegExp(String.raw`[}\]"\d]\s*,\s*${id}(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

function idIn({ head, tail }: { head: string; tail: string }): string | number | null {
  const found = (atHead.exec(head) ?? atTail.exec(tail))?.[1]
  return found === undefined ? null : JSON.parse(found)
}
