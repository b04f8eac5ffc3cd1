import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { contentDisposition } from '#contract/wire/headers.ts'
import { defaultVendor, toVendor } from '#contract/wire/vendor.ts'
import { TextChunk } from '#engines/ports/text-chunk.ts'
import { type PulledBody, pulledBody } from '#host/pulled-body.ts'
import type { Exchange } from '../exchange.ts'
import type { EventsReply, FileReply, PiecesReply, Reply } from '../route.ts'

/** A stored file, or a part of it; `read` is called when its first piece is wanted. */
export function fileBody(
  read: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
  { onEnd, cut }: { onEnd?: (delivered: boolean) => Promise<void>; cut?: () => boolean } = {},
): ReadableStream<Uint8Array> {
  const left = new AbortController()
  let pieces: AsyncIterator<Uint8Array> | null = null
  return pulledBody({
    async next() {
      pieces ??= read(left.signal)[Symbol.asyncIterator]()
      const step = await pieces.next()
      return step.done ? null : step.value
    },
    async end(delivered) {
      left.abort()
      await onEnd?.(delivered)
    },
    ...(cut ? { cut } : {}),
  })
}

const jsonType = 'application/json'

/** Compressing a smaller JSON answer costs more than it saves. */
const compressFromBytes = 1024

/** Writes a reply to the wire. */
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
      return exchange.streamed(eventStream(reply, vendor, exchange))
    case 'pieces':
      headers.set('content-type', reply.mimeType)
      headers.set('x-accel-buffering', 'no')
      return exchange.streamed(pieceStream(reply, exchange))
    case 'file':
      return sendFile(exchange, reply)
  }
}

export function setEventHeaders(headers: Map<string, string>): void {
  headers.set('content-type', 'text/event-stream; charset=utf-8')
  headers.set('x-accel-buffering', 'no')
}

export const sendJson = (exchange: Exchange, status: number, body: unknown): Promise<Response> =>
  sendText(exchange, JSON.stringify(body), jsonType, status)

/** Sends a file, which is compressed already, or JSON that was written beforehand. */
export async function sendBytes(exchange: Exchange, bytes: Buffer, contentType: string): Promise<Response> {
  if (contentType === jsonType) return sendText(exchange, bytes, contentType)
  exchange.answerHeaders.set('content-type', contentType)
  exchange.answerHeaders.set('content-length', bytes.byteLength.toString())
  return exchange.response(new Uint8Array(bytes))
}

export async function sendText(
  exchange: Exchange,
  text: string | Buffer,
  contentType: string,
  status = 200,
): Promise<Response> {
  const headers = exchange.answerHeaders
  headers.set('content-type', contentType)
  const encoding = text.length < compressFromBytes ? null : chosenEncoding(exchange.header('accept-encoding'))
  if (!encoding) return exchange.wholeResponse(text, status)
  headers.set('content-encoding', encoding)
  return exchange.wholeResponse(await compressed(text, encoding), status)
}

type Encoding = 'br' | 'gzip'

/** Brief §9: only if the caller asked for it. A quality of 0 means no. */
function chosenEncoding(accepted: readonly string[]): Encoding | null {
  const names = accepted
    .flatMap(value => value.split(','))
    .filter(part => !/;\s*q=0(\.0+)?\s*$/.test(part))
    .map(part => part.split(';')[0]?.trim().toLowerCase())
  if (names.includes('br')) return 'br'
  return names.includes('gzip') ? 'gzip' : null
}

const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

const compressed = (text: string | Buffer, encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> =>
  (encoding === 'br' ? promisify(brotliCompress)(text, brotliOptions) : promisify(gzip)(text)) as Promise<
    Uint8Array<ArrayBuffer>
  >

/** Returns one event of a stream as text. Events of a response have names (published contract §5.6). */
function eventText(value: unknown, vendor: string): string {
  if (value instanceof TextChunk && vendor === defaultVendor) return `data: ${value.json}\n\n`
  const plain = value instanceof TextChunk ? value.whole : value
  return `${nameLine(plain)}data: ${JSON.stringify(toVendor(plain, vendor))}\n\n`
}

export const eventBytes = (value: unknown, vendor: string): Uint8Array => Buffer.from(eventText(value, vendor))

function nameLine(value: unknown): string {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : null
  return typeof type === 'string' && /^response\.[a-z_.]+$/.test(type) ? `event: ${type}\n` : ''
}

/** The end of every event stream. */
export const lastEventBytes: Uint8Array = Buffer.from('data: [DONE]\n\n')

/** Pulls one event at a time, so that a slow reader slows the engine and memory stays bounded. */
function eventStream(reply: EventsReply, vendor: string, exchange: Exchange): PulledBody {
  const iterator = reply.events[Symbol.asyncIterator]()
  return {
    next: () => iterator.next().then(({ done, value }) => (done ? null : eventText(value, vendor))),
    sendDirectlyTo(reader) {
      reply.sendDirectlyTo?.({
        get isReady() {
          return reader.isReady
        },
        send: chunk => reader.send(eventText(chunk, vendor)),
      })
    },
    last: () => lastEventBytes,
    end: () => endedAfter(exchange, iterator),
    cut: () => exchange.cut(),
  }
}

/** Resources that a stream's work holds are kept until it has ended, which may be long after its reader has left. */
async function endedAfter(exchange: Exchange, iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.()
  } finally {
    exchange.ended()
  }
}

/** Sends one piece at a time, like `eventStream`. */
function pieceStream({ pieces }: PiecesReply, exchange: Exchange): PulledBody {
  const iterator = pieces[Symbol.asyncIterator]()
  return {
    async next() {
      const step = await iterator.next()
      return step.done ? null : step.value
    },
    end: () => endedAfter(exchange, iterator),
    cut: () => exchange.cut(),
  }
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
  const body = fileBody(signal => reply.read({ signal }), { onEnd, cut: () => exchange.cut() })
  return exchange.response(body)
}
