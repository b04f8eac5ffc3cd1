import { Server, type ServerContext } from '@modelcontextprotocol/server'
import { stateCodec } from '#mcp/asked-state.ts'
import { deprecatedTools } from './deprecated-tools.ts'

type Handler = (request: { params: { name?: string } }, context: ServerContext) => unknown

/**
 * Gives every server of this process what the frame has not because it is deprecated or gone: tools that sample, list roots
 * and log, the level of a log, and subscriptions by request. All else is answered by the frame's own handlers.
 */
export function wireDeprecated(stateKey: Uint8Array): void {
  const tools = deprecatedTools(stateCodec(stateKey))
  const register = Server.prototype.setRequestHandler as (this: Server, method: string, handler: Handler) => void
  Server.prototype.setRequestHandler = function (this: Server, method: string, own: Handler) {
    if (method === 'tools/list') {
      this.registerCapabilities({ logging: {}, resources: { subscribe: true } })
      for (const gone of ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']) {
        register.call(this, gone, () => ({}))
      }
    }
    const answers: Handler = (request, context) =>
      (request.params.name && tools[request.params.name]?.(context)) || own(request, context)
    register.call(this, method, method === 'tools/call' ? answers : own)
  } as typeof Server.prototype.setRequestHandler
}
