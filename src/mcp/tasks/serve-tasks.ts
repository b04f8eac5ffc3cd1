import type { Server, ServerContext } from '@modelcontextprotocol/server'
import type { Desk } from '../call-tool.ts'
import { requireTasks } from './extension.ts'

const methods = { 'tasks/get': 'getTask', 'tasks/update': 'updateTask', 'tasks/cancel': 'cancelTask' } as const

/** Answers the extension's requests. What they do is read with the first of a client that declares it. */
export function serveTasks(server: Server, desk: Desk): void {
  for (const [method, name] of Object.entries(methods)) {
    server.setRequestHandler(method, { params: anyParams }, (params: unknown, context: ServerContext) => {
      requireTasks(context)
      const answer = import('./task-methods.ts').then(
        (does): Promise<Record<string, unknown>> => does[name](desk, params, context),
      )
      return desk.calls.track(answer)
    })
  }
}

/** Params are checked once it is known that the client may ask at all. */
const anyParams = {
  '~standard': { version: 1 as const, vendor: 'farebox', validate: (value: unknown) => ({ value }) },
}
