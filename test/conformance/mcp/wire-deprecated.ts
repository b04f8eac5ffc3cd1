import { Server, type ServerContext } from '@modelcontextprotocol/server'
import { requireTasks } from '#mcp/calls/call-tool.ts'
import { stateCodec } from '#mcp/context.ts'
import { deprecatedTools } from './deprecated-tools.ts'

/** The suite requires a tool that is refused to clients without tasks; we have none. */
const onlyAsTask = 'failing_job'

type Handler = (request: { params: { name?: string } }, context: ServerContext) => unknown

/**
 * Gives every server of this process what the frame has not because it is deprecated or gone: tools that sample, list roots
 * and log, the level of a log, and subscriptions by request. All else is answered by the frame's own handlers.
 */
export function wireDeprecated(stateKey: Uint8Array): void {
  const tools = deprecatedTools(stateCodec(stateKey))
  const register = Server.prototype.setRequestHandler as (this: Server, method: string, ...rest: unknown[]) => void
  Server.prototype.setRequestHandler = function (
    this: Server,
    method: string,
    own: Handler | object,
    ...rest: unknown[]
  ) {
    // An extension's method comes with schemas of its own.
    if (typeof own !== 'function') return register.call(this, method, own, ...rest)
    if (method === 'tools/list') {
      this.registerCapabilities({ logging: {}, resources: { subscribe: true } })
      for (const gone of ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']) {
        register.call(this, gone, () => ({}))
      }
    }
    const answers: Handler = (request, context) => {
      if (request.params.name === onlyAsTask) requireTasks(context)
      return (request.params.name && tools[request.params.name]?.(context)) || own(request, context)
    }
    register.call(this, method, method === 'tools/call' ? answers : own)
  } as typeof Server.prototype.setRequestHandler
}
