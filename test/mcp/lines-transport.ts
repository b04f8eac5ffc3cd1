import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'

/** The client's end of a pipe: one JSON message a line; a line that is no JSON is an error. */
export function linesTransport(from: Readable, to: Writable): Transport {
  const lines = createInterface({ input: from })
  const transport: Transport = {
    async start() {
      lines.on('line', line => transport.onmessage?.(JSON.parse(line) as JSONRPCMessage))
    },
    async send(message) {
      to.write(`${JSON.stringify(message)}\n`)
    },
    async close() {
      to.end()
      lines.close()
      transport.onclose?.()
    },
  }
  return transport
}
