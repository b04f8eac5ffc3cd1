import { randomUUID } from 'node:crypto'
import { inferenceFailed } from '#contract/errors/errors.ts'
import { comfyPollMs } from './bounds.ts'
import type { ComfyServer, MadeFile } from './server.ts'

export interface WorkflowRun {
  server: ComfyServer
  /** With its values. */
  workflow: object
  /** How often the server is asked beside listening to it. */
  pollMs: number
  signal: AbortSignal
}

/** What a workflow makes while its caller waits. Throws `inferenceFailed` where it fails or is lost. */
export async function runWorkflow({ server, workflow, pollMs, signal }: WorkflowRun): Promise<readonly MadeFile[]> {
  const clientId = randomUUID()
  const watch = server.watch(clientId)
  let id = randomUUID() as string
  try {
    await watch.opened(signal)
    id = await server.submit(workflow, { id, clientId }, signal)
    for (;;) {
      signal.throwIfAborted()
      const found = await server.look(id, signal)
      if (found.state === 'done') return found.files
      // One that it does not know any more was lost when it was started anew.
      if (found.state !== 'waiting') throw inferenceFailed()
      await watch.next(pollMs, signal)
    }
  } catch (error) {
    // Its caller has left; work that goes on all the same costs only its time.
    if (signal.aborted) server.cancel(id, AbortSignal.timeout(comfyPollMs * 5)).catch(() => undefined)
    throw error
  } finally {
    watch.close()
  }
}
