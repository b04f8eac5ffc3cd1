import { answerValues, jsonDepth } from '#contract/limits.ts'
import { bodyTypesOf, type CallOf, isPaid, type Operation } from '#contract/operations/operation.ts'
import { BodyPieces } from '#contract/wire/body-pieces.ts'
import { idempotencyKey as keyHeader, wantReceipt } from '#contract/wire/headers.ts'
import { parseJson } from '#contract/wire/json.ts'
import { toVendor } from '#contract/wire/vendor.ts'
import { ClientError } from '../client-error.ts'
import { bodyMs, errorCharacters, errorMs } from '../limits.ts'
import { type WireResponse, wireFailure } from './wire.ts'

export interface WrittenRequest {
  method: string
  url: string
  headers: Record<string, string>
  body?: string | Uint8Array
}

/**
 * Writes a call as the vendor expects it: a JSON body, or a form if it contains a file. Values are sent unchanged,
 * because the service validates them. Throws `not-allowed` for an invalid key.
 */
export async function writeRequest<O extends Operation>(
  baseUrl: string,
  operation: O,
  call: CallOf<O>,
  vendor: string,
  key?: string,
): Promise<WrittenRequest> {
  const { params, query, body } = call as { params?: object; query?: object; body?: unknown }
  const given = new Map(Object.entries(params ?? {}))
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(given.get(name) ?? '')),
  )
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, String(value))
  const url = `${baseUrl}${path}${search.size > 0 ? `?${search}` : ''}`
  const accept = operation.answer.bytes ? `application/json, ${operation.answer.bytes}` : 'application/json'
  const wanted = isPaid(operation) ? { [wantReceipt.name]: wantReceipt.format(true) } : {}
  const headers = { accept, ...wanted, ...(key !== undefined && keyHeaderOf(key)) }
  if (body === undefined) return { method: operation.method, url, headers }
  const written = isForm(operation, body) ? await formOf(body as object) : jsonOf(toVendor(body, vendor))
  return {
    method: operation.method,
    url,
    headers: { ...headers, 'content-type': written.type },
    body: written.body,
  }
}

const jsonOf = (body: unknown) => ({ type: 'application/json', body: JSON.stringify(body) })

/** If an operation accepts both, a form is used only for files: JSON keeps the types of values. */
function isForm(operation: Operation, body: unknown): boolean {
  const types = bodyTypesOf(operation)
  if (!types.includes('multipart')) return false
  return !types.includes('json') || Object.values(body as object).some(value => [value].flat().some(isFile))
}

const isFile = (value: unknown): boolean => value instanceof Blob

/** Written once, so that every attempt has the same bytes, including the boundary. */
async function formOf(body: object): Promise<{ type: string; body: Uint8Array }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    for (const each of [value].flat()) {
      if (each instanceof Blob) form.append(name, each)
      else if (each !== undefined) form.append(name, String(each))
    }
  }
  const whole = new Response(form)
  return { type: whole.headers.get('content-type') ?? '', body: new Uint8Array(await whole.arrayBuffer()) }
}

function keyHeaderOf(key: string): Record<string, string> {
  if (keyHeader.parse(key) !== null) return { [keyHeader.name]: key }
  throw new ClientError('not-allowed', 'An idempotency key must have 1 to 255 characters of A–Z a–z 0–9 _ and -.', {
    wasSent: false,
  })
}

/**
 * Reads the whole body, up to `maximumBytes` and within this time; a truncated body is not an answer. A body may
 * otherwise arrive so slowly that it never ends.
 */
export async function readBytes(
  response: WireResponse,
  maximumBytes: number,
  withinMs: number = bodyMs,
): Promise<Uint8Array> {
  const pieces = new BodyPieces()
  const read = async () => {
    for await (const piece of response.body) {
      if (pieces.bytes + piece.byteLength > maximumBytes) {
        throw new ClientError('too-large', `The answer is larger than ${maximumBytes} bytes.`, { wasSent: true })
      }
      pieces.add(piece)
    }
  }
  if (await arrives(response, read, withinMs)) return pieces.whole()
  throw new ClientError('no-answer', 'The answer took too long.', { wasSent: true })
}

/** Reads a body; false once the time is over. The body is discarded unless it was read to its end. */
async function arrives(response: WireResponse, read: () => Promise<void>, withinMs: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), withinMs)
  let isWhole = false
  try {
    isWhole = await Promise.race([read().then(() => true), late.promise])
    return isWhole
  } catch (error) {
    if (error instanceof ClientError || (error instanceof Error && error.name === 'AbortError')) throw error
    throw wireFailure(error)
  } finally {
    clearTimeout(timer)
    if (!isWhole) response.discard()
  }
}

/** Parses untrusted JSON, bounded in size, depth, values and time. */
export const readJson = async (response: WireResponse, maximumBytes: number, withinMs?: number): Promise<unknown> =>
  jsonInAnswer(await readBytes(response, maximumBytes, withinMs))

/** `undefined` if it isn't JSON, nests too deep or has too many values. */
export function jsonInAnswer(bytes: Uint8Array): unknown {
  const parsed = parseJson(new TextDecoder().decode(bytes), jsonDepth, answerValues)
  return parsed.ok ? parsed.value : undefined
}

/**
 * Reads an unsuccessful answer: its JSON, or the beginning of its text. A larger or slower one is cut, because its
 * status says enough. Occurrences of `secret` are removed, because the text goes to a model and to records.
 */
export async function readErrorBody(
  response: WireResponse,
  maximumBytes: number,
  secret: string | null,
): Promise<unknown> {
  const said = new TextDecoder().decode(await firstBytes(response, maximumBytes))
  const text = secret ? said.replaceAll(secret, '[left out]') : said
  const parsed = parseJson(text, jsonDepth)
  return parsed.ok ? parsed.value : text.slice(0, errorCharacters)
}

async function firstBytes(response: WireResponse, maximumBytes: number): Promise<Uint8Array> {
  const pieces = new BodyPieces()
  const read = async () => {
    for await (const piece of response.body) {
      pieces.add(piece.subarray(0, maximumBytes - pieces.bytes))
      if (pieces.bytes === maximumBytes) return response.discard()
    }
  }
  await arrives(response, read, errorMs)
  return pieces.whole()
}

/**
 * Returns the same response, and passes its reader's bytes on once all are read; null if reading stopped early or there
 * were more than `mostBytes`.
 */
export function copiedBody(
  response: WireResponse,
  mostBytes: number,
  tell: (body: Uint8Array | null) => void,
): WireResponse {
  let pieces: BodyPieces | null = new BodyPieces()
  let isWhole = false
  let isTold = false
  const take = (piece: Uint8Array) => {
    if (pieces && pieces.bytes + piece.byteLength > mostBytes) pieces = null
    pieces?.add(piece)
  }
  const ended = () => {
    if (isTold) return
    isTold = true
    tell(isWhole && pieces ? pieces.whole() : null)
  }
  const body = {
    [Symbol.asyncIterator]() {
      const read = response.body[Symbol.asyncIterator]()
      return {
        async next() {
          const piece = await read.next()
          if (piece.done) isWhole = true
          else take(piece.value)
          return piece
        },
        return: async (value?: unknown) => (await read.return?.(value)) ?? { done: true as const, value: undefined },
      }
    },
  }
  return tellingItsEnd({ ...response, body }, ended)
}

/** Returns the same response, and calls back once its body has been read, has failed or is discarded. */
export function tellingItsEnd(response: WireResponse, ended: () => void): WireResponse {
  return {
    ...response,
    body: tellingEnd(response.body, ended),
    discard() {
      ended()
      response.discard()
    },
  }
}

// Not a generator: one that is dropped before its first step never runs its `finally`.
const tellingEnd = (body: AsyncIterable<Uint8Array>, ended: () => void): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]() {
    const pieces = body[Symbol.asyncIterator]()
    return {
      async next() {
        try {
          const piece = await pieces.next()
          if (piece.done) ended()
          return piece
        } catch (error) {
          ended()
          throw error
        }
      },
      async return(value?: unknown) {
        ended()
        return (await pieces.return?.(value)) ?? { done: true, value: undefined }
      },
    }
  },
})
