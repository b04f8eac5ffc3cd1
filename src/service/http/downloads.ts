import type { Context } from 'hono'
import { mediaGone, mediaNotFound, rangeNotSatisfiable, rateLimitExceeded } from '#contract/errors/errors.ts'
import type { Clock } from '#contract/time.ts'
import { contentDisposition, retryAfter } from '#contract/wire/headers.ts'
import { RecentMap } from '#host/recent-map.ts'
import type { ByteRange } from '#media/media-store.ts'
import type { MediaFile } from '../jobs/jobs.ts'
import { fileBody } from './body/send.ts'
import type { Exchange } from './exchange.ts'
import type { Service } from './service.ts'

/** Brief §2.7: the signed address of a finished video. Anyone who has it may fetch or revoke the video. */

function grantOf(context: Context, service: Service): string {
  const jobId = context.req.param('jobId') ?? ''
  const expires = context.req.query('expires') ?? ''
  const grant = { jobId, expiresAtMs: /^[1-9]\d{0,14}$/.test(expires) ? Number(expires) : 0 }
  if (!service.links.isSigned(grant, context.req.query('signature') ?? '')) throw mediaNotFound()
  if (grant.expiresAtMs <= service.clock.now()) throw gone()
  return jobId
}

const gone = () => mediaGone({ error: 'This link has expired or was revoked; queue the video again.' })

/**
 * Sends the whole file, or the one range that a resumed download requests; the ETag is strong, since a file never
 * changes.
 */
export async function readDownload(exchange: Exchange, context: Context, service: Service): Promise<Response> {
  const jobId = grantOf(context, service)
  service.downloadStarts.take(jobId)
  const file = await service.jobs.openMedia(jobId)
  if (file === 'deleted') throw gone()
  if (!file) throw mediaNotFound()
  const etag = `"${jobId}-${file.bytes}"`
  exchange.setAll({
    'accept-ranges': 'bytes',
    'content-type': file.mimeType,
    'cache-control': 'private, no-store',
    etag,
  })
  exchange.set(contentDisposition, `attachment; filename="${jobId}.mp4"`)
  // RFC 9110 §14.2 defines ranges for GET only.
  const range = context.req.method === 'GET' ? rangeOf(exchange, etag, file.bytes) : null
  const onEnd = async (sent: ByteRange, delivered: boolean) => {
    const isWhole = delivered && service.deliveredRanges.add(jobId, sent, file.bytes)
    if (isWhole) await service.jobs.delivered(jobId)
  }
  if (!range) return streamed(exchange, file, { start: 0, end: file.bytes - 1 }, { status: 200, onEnd })
  exchange.setAll({ 'content-range': `bytes ${range.start}-${range.end}/${file.bytes}` })
  return streamed(exchange, file, range, { status: 206, onEnd })
}

/** Returns null for the whole file: no range, several ranges, or one for another file. */
function rangeOf(exchange: Exchange, etag: string, bytes: number): ByteRange | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(exchange.header('range')[0] ?? '')
  const condition = exchange.header('if-range')[0]
  if (!match || (condition !== undefined && condition !== etag)) return null
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return null
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (start >= bytes || end < start) {
    exchange.setAll({ 'content-range': `bytes */${bytes}` })
    throw rangeNotSatisfiable({ error: `The file has ${bytes} bytes; the range is outside of it.` })
  }
  return { start, end }
}

interface Delivery {
  status: 200 | 206
  onEnd: (range: ByteRange, delivered: boolean) => Promise<void>
}

function streamed(exchange: Exchange, file: MediaFile, range: ByteRange, { status, onEnd }: Delivery): Response {
  exchange.setAll({ 'content-length': (range.end - range.start + 1).toString() })
  const body = fileBody(signal => file.read({ range, signal }), {
    onEnd: delivered => onEnd(range, delivered),
    cut: () => exchange.cut(),
  })
  return exchange.response(body, status)
}

/** Deletes the file; repeating it is harmless. Before the video is finished there is nothing to delete. */
export async function revokeDownload(exchange: Exchange, context: Context, service: Service): Promise<Response> {
  if (!(await service.jobs.revoke(grantOf(context, service)))) throw mediaNotFound()
  return exchange.response(null, 204)
}

/**
 * Tracks which bytes of a file have been sent, so that the file is not deleted after only its last bytes. If this
 * record is lost, or another process sent some bytes, the file is kept until it expires.
 */
export class DeliveredRanges {
  readonly #known = new RecentMap<readonly ByteRange[]>(deliveredRanges.files)

  /** Records a range that has been delivered; true if the file is now complete. */
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

/** Merges ranges that are sorted by their start: the next one continues the last, or begins a new one. */
function join(joined: ByteRange[], { start, end }: ByteRange): ByteRange[] {
  const last = joined.at(-1)
  if (!last || start > last.end + 1) return [...joined, { start, end }]
  return [...joined.slice(0, -1), { start: last.start, end: Math.max(last.end, end) }]
}

const minuteMs = 60_000

/**
 * Counts requests per download address and UTC minute. Anyone with the link may use it, so requests are counted per
 * link.
 */
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

/**
 * Requests per minute of one download address (a seeking player sends many, a loop sends them endlessly), and how many
 * addresses are counted.
 */
const downloadStarts = { perMinute: 60, addresses: 10_000 }

/** Files whose delivered parts are remembered, and separate parts per file; a parallel download has some ten. */
const deliveredRanges = { files: 1_000, perFile: 64 }
