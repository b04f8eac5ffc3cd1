import { invalidContentType, invalidRequest, payloadTooLarge } from '#contract/errors.ts'
import { isJsonMediaType } from '#contract/json-media-type.ts'
import { bodyBytes, bodyValues, jsonDepth } from '#contract/limits.ts'
import type { Operation } from '#contract/operation.ts'
import { parseJson } from '#contract/safe-json.ts'

/** What of a request the body reader needs; Node's own message and a web request both fit. */
export interface BodySource {
  header(name: string): readonly string[]
  /** All of it; null where it has more than `limit` bytes. */
  read(limit: number): Promise<Uint8Array | null>
}

const bytesLimit = (operation: Operation): number => {
  if (operation.limit === 'video.queue' || operation.path === '/video/quote') return bodyBytes.video
  return operation.limit === 'top-up' ? bodyBytes.topUp : bodyBytes.json
}

/** The JSON of a body; undefined where the operation takes none. Reads no more than its limit. */
export async function readBody(operation: Operation, source: BodySource): Promise<unknown> {
  if (!operation.request.body) return undefined
  const encoding = source.header('content-encoding')[0]
  if (encoding && encoding !== 'identity') throw invalidContentType()
  const text = await readText(source, bytesLimit(operation))
  if (text.trim() === '') {
    if (operation.request.bodyOptional) return {}
    throw invalidBody('The body is empty; send JSON.')
  }
  if (!operation.request.bodyOptional) requireJson(source.header('content-type')[0])
  const parsed = parseJson(text, jsonDepth, bodyValues)
  if (!parsed.ok) throw invalidBody(`The body ${parsed.reason}.`)
  return parsed.value
}

function requireJson(contentType: string | undefined): void {
  if (contentType !== 'application/json' && !isJsonMediaType(contentType)) throw invalidContentType()
}

const invalidBody = (message: string) =>
  invalidRequest({ error: 'Invalid request parameters', details: { _errors: [message] } })

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

async function readText(source: BodySource, limit: number): Promise<string> {
  const announced = Number(source.header('content-length')[0] ?? 0)
  if (announced > limit) throw tooLarge()
  const bytes = await source.read(limit)
  if (!bytes) throw tooLarge()
  try {
    return strictUtf8.decode(bytes)
  } catch {
    throw invalidBody('The body is not UTF-8.')
  }
}

const tooLarge = () =>
  payloadTooLarge({
    code: 'PAYLOAD_TOO_LARGE',
    error: 'The request payload is too large. Please reduce the size of your request.',
  })
