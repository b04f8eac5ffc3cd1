import type { Readable, Writable } from 'node:stream'
import type { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { messageBytes } from './bounds.ts'

export interface StdioConnection {
  /** Resolves when the client has gone or `close` was called. */
  closed: Promise<void>
  close(): Promise<void>
}

/** The one place that writes to stdout: JSON-RPC, one message a line. Serves every protocol from 2024-10 to 2026-07. */
export function connectStdio(
  makeServer: () => Server,
  { input, output, onError }: { input?: Readable; output?: Writable; onError(error: Error): void },
): StdioConnection {
  const transport = new StdioServerTransport(input, output, { maxBufferSize: messageBytes })
  const handle = serveStdio(makeServer, { transport, onerror: onError })
  const closed = new Promise<void>(resolve => {
    const tearDown = transport.onclose
    transport.onclose = () => {
      tearDown?.()
      resolve()
    }
  })
  return { closed, close: () => handle.close() }
}
