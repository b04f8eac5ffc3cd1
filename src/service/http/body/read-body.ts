import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { invalidContentType, invalidRequest, payloadTooLarge } from '#contract/errors/errors.ts'
import { describeIssues, fieldError } from '#contract/errors/issues.ts'
import { jsonDepth } from '#contract/limits.ts'
import { bodyTypesOf, mostBodyBytes, mostBodyValues, type Operation } from '#contract/operations/operation.ts'
import { BodyPieces } from '#contract/wire/body-pieces.ts'
import { formBoundary, parseForm } from '#contract/wire/form.ts'
import { parseJson, utf8Text } from '#contract/wire/json.ts'
import { isJsonMediaType } from '#contract/wire/media-type.ts'
import { bytesWithin } from '#host/network.ts'

/** The parts of a request that the body reader needs; both Node's message and a web request fit. */
export interface BodySource {
  header(name: string): readonly string[]
  /**
   * Reads the whole body; null if it has more than `limit` bytes. `arrived` is called for each piece, and may throw to
   * refuse it.
   */
  read(limit: number, arrived: Arrived): Promise<Uint8Array | null>
}

type Arrived = (bytes: number) => void

/** Reads the JSON of a body, or the fields of a form, up to its limit; undefined if the operation takes none. */
export async function readBody(operation: Operation, source: BodySource, arrived: Arrived): Promise<unknown> {
  if (!operation.request.body) return undefined
  const encoding = source.header('content-encoding')[0]
  if (encoding && encoding !== 'identity') throw invalidContentType()
  const type = source.header('content-type')[0]
  const taken = bodyTypesOf(operation)
  const boundary = taken.includes('multipart') ? formBoundary(type) : null
  if (boundary === null && !taken.includes('json')) throw invalidContentType()
  const bytes = await readBytes(source, mostBodyBytes(operation), arrived)
  return boundary === null ? parsedJson(bytes, type, operation) : parsedForm(bytes, boundary)
}

function parsedForm(bytes: Uint8Array, boundary: string): unknown {
  const parsed = parseForm(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), boundary)
  if (!parsed.ok) throw invalidBody(`The form ${parsed.reason}.`)
  return parsed.fields
}

function parsedJson(bytes: Uint8Array, type: string | undefined, operation: Operation): unknown {
  if (!operation.request.bodyOptional && bytes.byteLength > 0) requireJson(type)
  const text = textOf(bytes)
  if (text.trim() === '') {
    if (operation.request.bodyOptional) return {}
    throw invalidBody('The body is empty; send JSON.')
  }
  const parsed = parseJson(text, jsonDepth, mostBodyValues(operation))
  if (!parsed.ok) throw invalidBody(`The body ${parsed.reason}.`)
  return parsed.value
}

function requireJson(contentType: string | undefined): void {
  if (contentType !== 'application/json' && !isJsonMediaType(contentType)) throw invalidContentType()
}

const invalidBody = (message: string) => fieldError([], message)

async function readBytes(source: BodySource, limit: number, arrived: Arrived): Promise<Uint8Array> {
  const announced = Number(source.header('content-length')[0] ?? 0)
  if (announced > limit) throw tooLarge()
  const bytes = await source.read(limit, arrived)
  if (!bytes) throw tooLarge()
  return bytes
}

function textOf(bytes: Uint8Array): string {
  const text = utf8Text(bytes)
  if (text === null) throw invalidBody('The body is not UTF-8.')
  return text
}

const tooLarge = () =>
  payloadTooLarge({
    code: 'PAYLOAD_TOO_LARGE',
    error: 'The request payload is too large. Please reduce the size of your request.',
  })

/**
 * Reads all bytes of a body; null if there are more than `limit`. Rejects if its caller disconnects, or if `arrived`
 * throws.
 */
export const wholeBody = (incoming: IncomingMessage | null, request: Request, limit: number, arrived: Arrived) =>
  incoming ? ofMessage(incoming, limit, arrived) : bytesWithin(request.body ?? [], limit, arrived)

/**
 * Uses events: an async iterator of a message takes some 15 µs more, and closes its connection if the reader stops
 * early.
 */
function ofMessage(incoming: IncomingMessage, limit: number, arrived: Arrived): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    const pieces = new BodyPieces()
    const onData = (piece: Buffer) => {
      if (pieces.bytes + piece.byteLength > limit) return end(() => resolve(null))
      try {
        arrived(piece.byteLength)
        pieces.add(piece)
      } catch (error) {
        end(() => reject(error))
      }
    }
    const onEnd = () => end(() => resolve(pieces.whole()))
    const onBreak = () => end(() => reject(new Error('The caller disconnected before the body was complete.')))
    function end(settle: () => void): void {
      incoming.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak)
      settle()
    }
    if (incoming.destroyed) return onBreak()
    incoming.on('data', onData).on('end', onEnd).on('error', onBreak).on('close', onBreak)
  })
}

interface RequestParts {
  params: unknown
  query: unknown
  body: unknown
}

/** Parses what an operation declares; a 400 names each field and its allowed values. */
export function parseRequest(operation: Operation, parts: RequestParts): RequestParts {
  const { params, query, body } = operation.request
  return {
    params: parsed(params, parts.params),
    query: parsed(query, parts.query),
    body: parsed(body, parts.body),
  }
}

function parsed(schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return undefined
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalidRequest(describeIssues(result.error, value))
}
