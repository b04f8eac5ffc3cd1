import type { Readable, Writable } from 'node:stream'
import { type JSONRPCMessage, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { messageBytes } from './bounds.ts'
import type { Era } from './server.ts'
import { LineBound } from './whole-lines.ts'

export interface StdioConnection {
  /** Resolves when the client has gone or `close` was called. */
  closed: Promise<void>
  close(): Promise<void>
}

export interface StdioOptions {
  input?: Readable
  output?: Writable
  onError(error: Error): void
  /** Called once a message has been handed to the system. */
  onWritten(message: object): void
}

/** The one place that writes to stdout: JSON-RPC, one message a line. Serves every protocol from 2024-10 to 2026-07. */
export function connectStdio(
  makeServer: (era: Era) => Server,
  { input, output, onError, onWritten }: StdioOptions,
): StdioConnection {
  const lines = new LineBound({ onTooLong: id => void transport.send(tooLong(id)).catch(onError) })
  // A line that has passed the bound comes whole, behind none that is still awaited.
  const transport = new StdioServerTransport(lines, output, { maxBufferSize: messageBytes + pipeBytes })
  const send = transport.send.bind(transport)
  transport.send = async message => {
    await send(message)
    try {
      onWritten(message)
    } catch (error) {
      // The client has it; that it could not be noted is no reason to tell it again.
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

/** Of what a pipe hands over at once, which may be the ends of several lines. */
const pipeBytes = 1024 * 1024

/** JSON-RPC knows an id of null where none can be told; the protocol's own type does not. */
const tooLong = (id: string | number | null) =>
  ({
    jsonrpc: '2.0',
    id,
    error: {
      code: ProtocolErrorCode.InvalidRequest,
      message: `The message is larger than ${messageBytes} bytes, so nothing was done. Give files by their path instead of their bytes.`,
    },
  }) as JSONRPCMessage
