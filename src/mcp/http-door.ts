import type { IncomingMessage, ServerResponse } from 'node:http'
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node'

/** Where MCP is served. */
export const httpPath = '/mcp'

/** What a Host header may be; a user's name before it would pass for the host's in a URL, and breaks the request's. */
const hostForm = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i
const isLocalHost = localhostHostValidation()
const isLocalOrigin = localhostOriginValidation()

/**
 * Lets a request in, or answers it. The tools spend money, so it has to come from a program that knows the token, and from
 * no page: a page can reach loopback under any name that its owner's DNS gives it. Nothing of the body has been read then.
 */
export function letIn(
  request: IncomingMessage,
  response: ServerResponse,
  isToken: (given: string) => boolean,
): boolean {
  const { host, authorization } = request.headersDistinct
  if ((host?.length ?? 0) > 1) return refuse(response, 400, 'One Host header is taken.')
  if (!isLocalHost(request, response) || !isLocalOrigin(request, response)) return false
  if (!hostForm.test(host?.[0] ?? '')) return refuse(response, 403, 'The Host header is no name of this machine.')
  if (pathOf(request) !== httpPath) return refuse(response, 404, `MCP is served at ${httpPath}.`)
  const [given = '', ...more] = authorization ?? []
  const token = /^bearer +(\S+)$/i.exec(given)?.[1] ?? ''
  if (more.length > 0 || !isToken(token)) {
    response.setHeader('www-authenticate', 'Bearer realm="farebox"')
    return refuse(
      response,
      401,
      'Send the token of this server as `Authorization: Bearer TOKEN`; it told its file at start.',
    )
  }
  return true
}

/** An answer before the protocol, in the shape that its clients read. Always false, for the caller to return. */
export function refuse(response: ServerResponse, status: number, message: string): false {
  // What was not read of the body would be taken for the next request.
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
  return false
}

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? ''
