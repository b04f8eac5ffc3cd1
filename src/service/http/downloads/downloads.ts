import type { Context } from 'hono'
import { mediaGone, mediaNotFound, rangeNotSatisfiable } from '#contract/errors/errors.ts'
import { contentDisposition } from '#contract/wire/headers.ts'
import { fileBody } from '../body/pulled-body.ts'
import type { Exchange } from '../exchange.ts'
import type { Service } from '../service.ts'
import type { ByteRange } from './download-progress.ts'

/** Brief §2.7: the signed address of a finished video. Whoever has it may fetch or revoke; it says nothing else. */

function grantOf(context: Context, service: Service): string {
  const jobId = context.req.param('jobId') ?? ''
  const expires = context.req.query('expires') ?? ''
  const grant = { jobId, expiresAtMs: /^[1-9]\d{0,14}$/.test(expires) ? Number(expires) : 0 }
  if (!service.links.isSigned(grant, context.req.query('signature') ?? '')) throw mediaNotFound()
  if (grant.expiresAtMs <= service.clock.now()) throw gone()
  return jobId
}

const gone = () => mediaGone({ error: 'This address has expired or was revoked; queue the video again.' })

/** The whole file, or the one range that a resumed download asks for; the ETag is strong, since a file never changes. */
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
  const range = rangeOf(exchange, etag, file.bytes)
  const onEnd = async (sent: ByteRange, delivered: boolean) => {
    const isWhole = delivered && service.deliveredRanges.add(jobId, sent, file.bytes)
    if (isWhole) await service.jobs.delivered(jobId)
  }
  if (!range) return streamed(exchange, file.path, { start: 0, end: file.bytes - 1 }, { status: 200, onEnd })
  exchange.setAll({ 'content-range': `bytes ${range.start}-${range.end}/${file.bytes}` })
  return streamed(exchange, file.path, range, { status: 206, onEnd })
}

/** Null means the whole file: no range, several ranges, or one for another file. */
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
    throw rangeNotSatisfiable({ error: `The file has ${bytes} bytes; the range lies outside.` })
  }
  return { start, end }
}

interface Delivery {
  status: 200 | 206
  onEnd: (range: ByteRange, delivered: boolean) => Promise<void>
}

function streamed(exchange: Exchange, path: string, range: ByteRange, { status, onEnd }: Delivery): Response {
  exchange.setAll({ 'content-length': (range.end - range.start + 1).toString() })
  const body = fileBody(path, range, { onEnd: delivered => onEnd(range, delivered), cut: () => exchange.cut() })
  return exchange.response(body, status)
}

/** Revoking deletes the file; doing it twice is the same. Before the video is finished there is nothing to delete. */
export async function revokeDownload(exchange: Exchange, context: Context, service: Service): Promise<Response> {
  if (!(await service.jobs.revoke(grantOf(context, service)))) throw mediaNotFound()
  return exchange.response(null, 204)
}
