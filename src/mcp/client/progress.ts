import type { ServerContext } from '@modelcontextprotocol/server'
import type { Clock } from '#contract/time.ts'
import { progressCharacters, progressEveryMs } from '#toolkit/bounds.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'
import { oneLine } from '#toolkit/values/untrusted.ts'
import { waitReportMs } from '../bounds.ts'

interface Progress {
  report: ToolContext['report']
  end(): void
}

/** What the notifications of one request said last. */
interface Reported {
  last: number
  most: number
}

/** Sends progress notifications of calls whose clients asked for them. */
export class CallProgress {
  readonly #clock: Clock
  /** By the signal of a request: in older protocols, a call that asked the user continues in the same request. */
  readonly #reported = new WeakMap<AbortSignal, Reported>()
  readonly #asking = new WeakMap<AbortSignal, () => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns reports that increase, are rate-limited, and end with the request's signal or after `end`. */
  of({ mcpReq }: ServerContext): Progress {
    const { signal, _meta } = mcpReq
    this.#asking.get(signal)?.()
    const progressToken = _meta?.progressToken
    const reported = this.#reported.get(signal) ?? { last: 0, most: 0 }
    this.#reported.set(signal, reported)
    let ended = progressToken === undefined
    let nextAtMs = 0
    return {
      report: ({ message, done, total }) => {
        const nowMs = this.#clock.now()
        if (ended || signal.aborted || nowMs < nextAtMs || progressToken === undefined) return
        nextAtMs = nowMs + progressEveryMs
        // Progress must increase with each notification, even if nothing was counted in between.
        reported.last = Math.max(reported.last + 1, Math.round(done ?? 0))
        // Once a total is known it stays and is never exceeded: a job may take longer than estimated.
        if (total !== undefined || reported.most > 0)
          reported.most = Math.max(reported.most, Math.round(total ?? 0), reported.last)
        const params = {
          progressToken,
          progress: reported.last,
          ...(reported.most > 0 ? { total: reported.most } : {}),
          message: oneLine(message, progressCharacters),
        }
        // If the client has gone, this notification is lost; the call itself notices through its signal.
        mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
      },
      end() {
        ended = true
      },
    }
  }

  /**
   * Reports while the user reads a form, until the call continues or the returned function is called. In older protocols
   * the call waits for the answer, and many clients end a call after a minute without progress.
   */
  whileAsking(context: ServerContext): () => void {
    const { signal, envelope } = context.mcpReq
    if (envelope) return () => {}
    const { report, end } = this.of(context)
    const timer = setInterval(() => report({ message: 'Waiting for the user' }), waitReportMs)
    timer.unref()
    const stop = () => {
      clearInterval(timer)
      end()
    }
    this.#asking.set(signal, stop)
    signal.addEventListener('abort', stop, { once: true })
    return stop
  }
}
