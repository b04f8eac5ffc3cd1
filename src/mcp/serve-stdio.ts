import type { Readable, Writable } from 'node:stream'
import { stopMs } from './bounds.ts'
import { Deliveries } from './deliveries.ts'
import { logFault } from './fault-log.ts'
import { type FrameOptions, openFrame } from './open-frame.ts'
import { connectStdio } from './stdio.ts'

export interface ServeMcp extends FrameOptions {
  /** The process's own where absent. */
  input?: Readable
  output?: Writable
}

export interface McpSession {
  /** Resolves when the client has gone, calls in flight have stopped and the host is closed. Never rejects. */
  closed: Promise<void>
  close(): Promise<void>
}

/** Serves MCP on stdio until the client closes it. */
export function serveMcp({ input, output, ...options }: ServeMcp): McpSession {
  const frame = openFrame(options)
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
