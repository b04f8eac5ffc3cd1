import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { McpContext } from '../context.ts'

/** Extension of the protocol of 2026-07-28, by which a call may be answered with a task that the client looks at. */
const tasksExtension = 'io.modelcontextprotocol/tasks'

/** As server and client declare it. */
export const withTasks = { extensions: { [tasksExtension]: {} } }

/** Whether this very request declares it; what an earlier one declared does not count. */
export function takesTasks({ mcpReq }: Pick<ServerContext, 'mcpReq'>): boolean {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {}
  const said = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  return said?.extensions?.[tasksExtension] !== undefined
}

/** Throws for a client without it. Older protocols have methods of the same names, which are not served. */
export function requireTasks(context: ServerContext): void {
  if (!context.mcpReq.envelope) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found')
  if (!takesTasks(context)) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: withTasks })
}

const methods = { 'tasks/get': 'getTask', 'tasks/update': 'updateTask', 'tasks/cancel': 'cancelTask' } as const

/** Answers the extension's requests. What they do is read with the first of a client that declares it. */
export function serveTasks(server: Server, mcp: McpContext): void {
  for (const [method, name] of Object.entries(methods)) {
    server.setRequestHandler(method, { params: anyParams }, (params: unknown, context: ServerContext) => {
      requireTasks(context)
      const answer = import('./tasks.ts').then(
        (does): Promise<Record<string, unknown>> => does[name](mcp, params, context),
      )
      return mcp.calls.track(answer)
    })
  }
}

/** Params are checked once it is known that the client may ask at all. */
const anyParams = {
  '~standard': { version: 1 as const, vendor: 'farebox', validate: (value: unknown) => ({ value }) },
}
