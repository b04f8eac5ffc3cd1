import { rateLimitExceeded } from '#contract/errors/errors.ts'
import type { Clock } from '#contract/time.ts'
import { retryAfter } from '#contract/wire/headers.ts'
import { RecentMap } from '#host/recent-map.ts'
import { deliveredRanges, downloadStarts } from '../bounds.ts'

/** Bytes of a file, both ends included. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * Which bytes of a downloaded file have left this process, so that one is not deleted for its last bytes alone. What is
 * forgotten here, or was delivered by another process, only keeps the file until its time is over.
 */
export class DeliveredRanges {
  readonly #known = new RecentMap<readonly ByteRange[]>(deliveredRanges.files)

  /** Notes a range that has been delivered; true where the file is whole by now. */
  add(jobId: string, range: ByteRange, bytes: number): boolean {
    const joined = [...(this.#known.get(jobId) ?? []), range]
      .sort((one, other) => one.start - other.start)
      .reduce<ByteRange[]>(join, [])
    const [first] = joined
    if (first?.start === 0 && first.end === bytes - 1) return true
    if (joined.length <= deliveredRanges.perFile) this.#known.set(jobId, joined)
    return false
  }
}

/** Of ranges in the order of their starts: the next one continues the last, or stands for itself. */
function join(joined: ByteRange[], { start, end }: ByteRange): ByteRange[] {
  const last = joined.at(-1)
  if (!last || start > last.end + 1) return [...joined, { start, end }]
  return [...joined.slice(0, -1), { start: last.start, end: Math.max(last.end, end) }]
}

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
