import type { ChatCompletionRequest } from '#contract/chat.ts'
import type { ChatMessage, ContentPart } from '#contract/chat-message.ts'
import { fieldError } from '../field-error.ts'
import { pictureFetchMs } from '../images/bounds.ts'
import { FetchRefused } from '../media/fetch-refused.ts'
import type { Fetcher } from '../media/first-use-fetcher.ts'
import { pictureBytes } from '../pictures/bounds.ts'
import { readPictureBytes } from '../pictures/picture.ts'
import { namedPictureBytes, namedPictures } from './bounds.ts'

/** A picture that a conversation names by its address. */
export interface NamedPicture {
  /** Where in the request its address stands. */
  path: readonly (string | number)[]
  url: string
}

interface FetchOptions {
  fetcher: Fetcher
  signal: AbortSignal
}

const isAddress = (url: string): boolean => /^https?:/i.test(url)

/** In the order of the conversation. Throws `invalidRequest` where there are more than one request may name. */
export function picturesNamedIn({ messages }: ChatCompletionRequest): NamedPicture[] {
  const named = messages.flatMap(({ content }, index) =>
    Array.isArray(content)
      ? content.flatMap((part: ContentPart, place) =>
          part.type === 'image_url' && isAddress(part.image_url.url)
            ? [{ path: ['messages', index, 'content', place, 'image_url', 'url'], url: part.image_url.url }]
            : [],
        )
      : [],
  )
  const beyond = named[namedPictures]
  if (!beyond) return named
  throw fieldError(
    beyond.path,
    `a request may name ${namedPictures} pictures by their addresses; send further ones as data URLs (data:image/png;base64,…)`,
  )
}

/**
 * Data URLs by address, for an engine that is given bytes and no address of a caller: it may stand within the operator's
 * network. One after another, so that all of them together keep within their bytes and their time. Throws `invalidRequest`
 * that names the field, or the signal's reason.
 */
export async function fetchPictures(
  named: readonly NamedPicture[],
  { fetcher, signal }: FetchOptions,
): Promise<ReadonlyMap<string, string>> {
  const fetched = new Map<string, string>()
  const startedMs = performance.now()
  let leftBytes = namedPictureBytes
  for (const { path, url } of named) {
    if (fetched.has(url)) continue
    const timeoutMs = Math.max(1, Math.floor(pictureFetchMs - (performance.now() - startedMs)))
    const mostBytes = Math.min(pictureBytes, leftBytes)
    const bytes = await fetchOne({ path, url }, { fetcher, signal, timeoutMs, mostBytes })
    leftBytes -= bytes.length
    const read = readPictureBytes(null, bytes)
    if (!read.ok) throw fieldError(path, read.problem)
    fetched.set(url, `data:image/${read.picture.type};base64,${bytes.toString('base64')}`)
  }
  return fetched
}

async function fetchOne(
  { path, url }: NamedPicture,
  { fetcher, ...bounds }: FetchOptions & { timeoutMs: number; mostBytes: number },
): Promise<Buffer> {
  try {
    return (await fetcher.fetch({ url, accept: 'image/*', ...bounds })).bytes
  } catch (error) {
    if (!(error instanceof FetchRefused)) throw error
    throw fieldError(path, error.reason === 'address' ? error.message : `could not be fetched: ${error.message}`)
  }
}

/** The same request with each fetched picture in the place of its address. */
export const withPictures = (
  request: ChatCompletionRequest,
  fetched: ReadonlyMap<string, string>,
): ChatCompletionRequest =>
  fetched.size === 0 ? request : { ...request, messages: request.messages.map(message => filledIn(message, fetched)) }

function filledIn(message: ChatMessage, fetched: ReadonlyMap<string, string>): ChatMessage {
  if (message.role !== 'user' || !Array.isArray(message.content)) return message
  const content = message.content.map(part => {
    const url = part.type === 'image_url' ? fetched.get(part.image_url.url) : undefined
    return part.type === 'image_url' && url !== undefined ? { ...part, image_url: { ...part.image_url, url } } : part
  })
  return { ...message, content }
}
