import type { ServerContext } from '@modelcontextprotocol/server'
import type { Clock } from '#contract/clock.ts'
import { progressCharacters, progressEveryMs } from '#toolkit/bounds.ts'
import { strangeId } from '#toolkit/from-outside.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'

/** Between two notifications that have nothing to count: the value must grow, and must never look like a step. */
const TICK = 0.001

/**
 * Progress notifications of one call, where the client asked for them: growing, not too many, and none after `signal`
 * has been aborted or `end` was called.
 */
export function progressOf(context: ServerContext, clock: Clock): { report: ToolContext['report']; end(): void } {
  const progressToken = context.mcpReq._meta?.progressToken
  let ended = progressToken === undefined
  let last = 0
  let nextAtMs = 0
  return {
    report({ message, done, total }) {
      const nowMs = clock.now()
      if (ended || context.mcpReq.signal.aborted || nowMs < nextAtMs || progressToken === undefined) return
      nextAtMs = nowMs + progressEveryMs
      last = done !== undefined && done > last ? done : last + TICK
      const params = {
        progressToken,
        progress: last,
        ...(total !== undefined && total >= last ? { total } : {}),
        message: strangeId(message, progressCharacters),
      }
      // A client that has gone is not told; the call itself notices by its signal.
      context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
    end() {
      ended = true
    },
  }
}
