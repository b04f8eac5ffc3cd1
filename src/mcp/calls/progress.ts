import type { ServerContext } from '@modelcontextprotocol/server'
import type { Clock } from '#contract/time.ts'
import { progressCharacters, progressEveryMs } from '#toolkit/bounds.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'
import { oneLine } from '#toolkit/values/untrusted.ts'

/**
 * Sends progress notifications of one call, if the client asked for them: increasing, rate-limited, and none after
 * `signal` is aborted or `end` is called.
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
      // Progress must increase with each notification, even if nothing was counted in between.
      last = Math.max(last + 1, Math.round(done ?? 0))
      // Once a total is known it stays and is never exceeded: a job may take longer than estimated.
      if (total !== undefined || most > 0) most = Math.max(most, Math.round(total ?? 0), last)
      const params = {
        progressToken,
        progress: last,
        ...(most > 0 ? { total: most } : {}),
        message: oneLine(message, progressCharacters),
      }
      // If the client has gone, this notification is lost; the call itself notices through its signal.
      context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
    end() {
      ended = true
    },
  }
}
