import { createReadStream } from 'node:fs'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { minuteMs } from '#contract/time.ts'
import { contentDisposition } from '#contract/wire/headers.ts'
import { toVendor } from '#contract/wire/vendor.ts'
import type { Exchange } from '../exchange.ts'
import type { EventsReply, FileReply, PiecesReply, Reply } from '../route.ts'

/** A body that is made as it is read. */
interface PulledBody {
  /** Null after the last piece. */
  next(): Promise<Uint8Array | null>
  /** What goes out after the last piece, if anything. */
  last?(): Uint8Array | null
  /** Called once: when all has been read, when the reader has left, also before the first read, or after an error. */
  end(delivered: boolean): Promise<void>
  /** Breaks the connection off; false where there is none, and an error of the body has to tell. */
  cut?(): boolean
}

/**
 * Nothing happens before somebody reads: a HEAD or a reader that has left opens no file. A generator would not do, since
 * one that was never started skips its `finally`. Whoever takes nothing for `readerPatienceMs` has left as well.
 */
export function pulledBody(source: PulledBody): ReadableStream<Uint8Array> {
  let ended = false
  let patience: NodeJS.Timeout | null = null
  const end = async (delivered: boolean) => {
    if (patience) clearTimeout(patience)
    if (ended) return
    ended = true
    await source.end(delivered)
  }
  // An error of a body is printed by the server that writes it, past the log and into the answer.
  const fail = (controller: ReadableStreamDefaultController, error: unknown) =>
    source.cut?.() ? controller.close() : controller.error(error)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (patience) clearTimeout(patience)
        const giveUp = () => {
          fail(controller, new Error('The reader took nothing for too long.'))
          // What ends badly here has been told by whoever made the pieces.
          end(false).catch(() => undefined)
        }
        try {
          const piece = await source.next()
          if (piece) {
            controller.enqueue(piece)
            if (!ended) patience = setTimeout(giveUp, readerPatienceMs).unref()
            return
          }
          const last = source.last?.()
          if (last) controller.enqueue(last)
          await end(true)
          controller.close()
        } catch (error) {
          // The error itself says more than what ending after it may add.
          await end(false).catch(() => undefined)
          fail(controller, error)
        }
      },
      cancel: () => end(false),
    },
    { highWaterMark: 0 },
  )
}

/** A file, or the part of it from `start` to `end`, both included. */
export function fileBody(
  path: string,
  range: { start?: number; end?: number },
  { onEnd, cut }: { onEnd?: (delivered: boolean) => Promise<void>; cut?: () => boolean } = {},
): ReadableStream<Uint8Array> {
  let open: ReturnType<typeof createReadStream> | null = null
  let pieces: AsyncIterator<Buffer> | null = null
  return pulledBody({
    async next() {
      open ??= createReadStream(path, range)
      pieces ??= open[Symbol.asyncIterator]()
      const step = await pieces.next()
      return step.done ? null : step.value
    },
    async end(delivered) {
      open?.destroy()
      await onEnd?.(delivered)
    },
    ...(cut ? { cut } : {}),
  })
}

/** A JSON answer below this is smaller than what compressing it costs. */
const compressFromBytes = 1024

/** Puts a reply on the wire. */
export async function send(exchange: Exchange, reply: Reply, vendor: string): Promise<Response> {
  const headers = exchange.answerHeaders
  switch (reply.kind) {
    case 'json':
      exchange.ended()
      return sendJson(exchange, reply.status, toVendor(reply.body, vendor))
    case 'bytes':
      exchange.ended()
      return sendBytes(exchange, reply.bytes, reply.mimeType)
    case 'events':
      setEventHeaders(headers)
      return exchange.response(eventStream(reply, vendor, exchange))
    case 'pieces':
      headers.set('content-type', reply.mimeType)
      headers.set('x-accel-buffering', 'no')
      return exchange.response(pieceStream(reply, exchange))
    case 'file':
      return sendFile(exchange, reply)
  }
}

export function setEventHeaders(headers: Map<string, string>): void {
  headers.set('content-type', 'text/event-stream; charset=utf-8')
  headers.set('x-accel-buffering', 'no')
}

export const sendJson = (exchange: Exchange, status: number, body: unknown): Promise<Response> =>
  sendText(exchange, JSON.stringify(body), 'application/json', status)

export function sendBytes(exchange: Exchange, bytes: Buffer, contentType: string, status = 200): Response {
  exchange.answerHeaders.set('content-type', contentType)
  exchange.answerHeaders.set('content-length', bytes.byteLength.toString())
  return exchange.response(new Uint8Array(bytes), status)
}

export async function sendText(exchange: Exchange, text: string, contentType: string, status = 200): Promise<Response> {
  const headers = exchange.answerHeaders
  headers.set('content-type', contentType)
  const encoding = text.length < compressFromBytes ? null : chosenEncoding(exchange.header('accept-encoding'))
  if (!encoding) return exchange.wholeResponse(text, status)
  headers.set('content-encoding', encoding)
  return exchange.wholeResponse(await compressed(text, encoding), status)
}

type Encoding = 'br' | 'gzip'

/** Brief §9: only where the caller asked. A quality of 0 means no. */
function chosenEncoding(accepted: readonly string[]): Encoding | null {
  const names = accepted
    .flatMap(value => value.split(','))
    .filter(part => !/;\s*q=0(\.0+)?\s*$/.test(part))
    .map(part => part.split(';')[0]?.trim().toLowerCase())
  if (names.includes('br')) return 'br'
  return names.includes('gzip') ? 'gzip' : null
}

const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

const compressed = (text: string, encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> =>
  (encoding === 'br' ? promisify(brotliCompress)(text, brotliOptions) : promisify(gzip)(text)) as Promise<
    Uint8Array<ArrayBuffer>
  >

const encoder = new TextEncoder()

/** One event of a stream, as its bytes. Those of a response have names (published contract §5.6). */
export const eventBytes = (value: unknown, vendor: string): Uint8Array =>
  encoder.encode(`${nameLine(value)}data: ${JSON.stringify(toVendor(value, vendor))}\n\n`)

function nameLine(value: unknown): string {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : null
  return typeof type === 'string' && /^response\.[a-z_.]+$/.test(type) ? `event: ${type}\n` : ''
}

/** The end of every stream of events. */
export const lastEventBytes = encoder.encode('data: [DONE]\n\n')

/** Pulls one event at a time, so a slow reader slows the engine and memory stays bounded. */
function eventStream(reply: EventsReply, vendor: string, exchange: Exchange): ReadableStream<Uint8Array> {
  const iterator = reply.events[Symbol.asyncIterator]()
  return pulledBody({
    async next() {
      const step = await iterator.next()
      return step.done ? null : eventBytes(step.value, vendor)
    },
    last: () => lastEventBytes,
    end: () => endedAfter(exchange, iterator),
    cut: () => exchange.cut(),
  })
}

/** What a stream's work holds is kept until it has ended, which may be long after its reader has left. */
async function endedAfter(exchange: Exchange, iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.()
  } finally {
    exchange.ended()
  }
}

/** One piece at a time, as `eventStream`. */
function pieceStream({ pieces }: PiecesReply, exchange: Exchange): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  return pulledBody({
    async next() {
      const step = await iterator.next()
      return step.done ? null : step.value
    },
    end: () => endedAfter(exchange, iterator),
    cut: () => exchange.cut(),
  })
}

function sendFile(exchange: Exchange, reply: FileReply): Response {
  const headers = exchange.answerHeaders
  headers.set('content-type', reply.mimeType)
  headers.set('content-length', reply.bytes.toString())
  exchange.set(contentDisposition, `attachment; filename="${reply.filename}"`)
  const onEnd = async (delivered: boolean) => {
    exchange.ended()
    await reply.onEnd?.(delivered)
  }
  const body = fileBody(reply.path, {}, { onEnd, cut: () => exchange.cut() })
  return exchange.response(body)
}

/**
 * Who takes no piece of an answer for so long has left, though the connection stands: work and credit wait for readers.
 * Proxies and people that pause a reader go on sooner.
 */
export const readerPatienceMs = 5 * minuteMs
