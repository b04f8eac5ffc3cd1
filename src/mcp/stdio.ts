import type { Readable, Writable } from 'node:stream'
import type { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { messageBytes } from './bounds.ts'
import type { Era } from './server.ts'

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
  const transport = new StdioServerTransport(input, output, { maxBufferSize: messageBytes })
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
  const handle = serveStdio(({ era }) => makeServer(era), { transport, onerror: onError })
  const closed = new Promise<void>(resolve => {
    const tearDown = transport.onclose
    transport.onclose = () => {
      tearDown?.()
      resolve()
    }
  })
  return { closed, close: () => handle.close() }
}
