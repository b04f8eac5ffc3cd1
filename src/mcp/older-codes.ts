import type { JSONRPCMessage, Server, Transport } from '@modelcontextprotocol/server'
import { ProtocolErrorCode } from '@modelcontextprotocol/server'

/**
 * Protocols before 2026-07 have a code of their own for a resource that is not there, -32002. The SDK writes the newer one
 * for all of them, so it is changed on the way out.
 */
export function withOlderCodes(server: Server): Server {
  const connect = server.connect.bind(server)
  server.connect = (transport: Transport) => {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => send(withOlderCode(message), options)
    return connect(transport)
  }
  return server
}

/** A missing resource is the only error that has its address, and nothing else, as data. */
function withOlderCode(message: JSONRPCMessage): JSONRPCMessage {
  if (!('error' in message) || message.error.code !== ProtocolErrorCode.InvalidParams) return message
  const { data } = message.error
  const isMissing = typeof data === 'object' && data !== null && Object.keys(data).join() === 'uri'
  return isMissing ? { ...message, error: { ...message.error, code: ProtocolErrorCode.ResourceNotFound } } : message
}
