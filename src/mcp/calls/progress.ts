import type { ServerContext } from '@modelcontextprotocol/server'
import type { Clock } from '#contract/time.ts'
import { progressCharacters, progressEveryMs } from '#toolkit/bounds.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'
import { oneLine } from '#toolkit/values/untrusted.ts'

/**
 * Progress notifications of one call, where the client asked for them: growing, not too many, and none after `signal`
 * has been aborted or `end` was called.
 */
export function progressOf(context: ServerContext, clock: Clock): { report: ToolContext['report']; end(): void } {
  const progressToken = context.mcpReq._meta?.progressToken
  let ended = progressToken === undefined
  let last = 0
  let most = 0
  let nextAtMs = 0
  return {
    report({ message, done, total }) {
      const nowMs = clock.now()
      if (ended || context.mcpReq.signal.aborted || nowMs < nextAtMs || progressToken === undefined) return
      nextAtMs = nowMs + progressEveryMs
      // It must grow with each notification, also where nothing was counted in between.
      last = Math.max(last + 1, Math.round(done ?? 0))
      // Once a total is known it stays, and is passed by nothing: a job may take longer than such jobs do.
      if (total !== undefined || most > 0) most = Math.max(most, Math.round(total ?? 0), last)
      const params = {
        progressToken,
        progress: last,
        ...(most > 0 ? { total: most } : {}),
        message: oneLine(message, progressCharacters),
      }
      // A client that has gone is not told; the call itself notices by its signal.
      context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
    end() {
      ended = true
    },
  }
}
