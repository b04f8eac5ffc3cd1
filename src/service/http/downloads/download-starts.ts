import { rateLimitExceeded } from '#contract/errors/errors.ts'
import type { Clock } from '#contract/time.ts'
import { retryAfter } from '#contract/wire/headers.ts'
import { RecentMap } from '#host/recent-map.ts'
import { downloadStarts } from '../bounds.ts'

const minuteMs = 60_000

/** Counts how often each download address is asked for, in minutes of UTC: whoever has it may use it, and nobody else is known. */
export class DownloadStarts {
  readonly #clock: Clock
  readonly #counts = new RecentMap<{ minute: number; count: number }>(downloadStarts.addresses)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws `rateLimitExceeded` with the seconds until the next minute. */
  take(jobId: string): void {
    const nowMs = this.#clock.now()
    const minute = Math.floor(nowMs / minuteMs)
    const known = this.#counts.get(jobId)
    const count = known?.minute === minute ? known.count + 1 : 1
    this.#counts.set(jobId, { minute, count })
    if (count <= downloadStarts.perMinute) return
    const seconds = Math.ceil(((minute + 1) * minuteMs - nowMs) / 1_000)
    throw rateLimitExceeded({ [retryAfter.name]: retryAfter.format(seconds) })
  }
}
