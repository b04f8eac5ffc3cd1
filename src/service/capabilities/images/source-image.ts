import { corruptedImage, imageTooLarge, imageTooSmall, payloadTooLarge } from '#contract/errors/errors.ts'
import { fieldDetails, fieldError } from '#contract/errors/issues.ts'
import { uploadBytes } from '#contract/limits.ts'
import type { ImageInput } from '#contract/operations/images.ts'
import { imageSize, isWholeImage, typeOfBytes } from '#contract/wire/image-header.ts'
import { type Fetcher, FetchRefused } from '#engines/fetch/fetcher.ts'
import { fromBase64, type ImageFile } from '#engines/images/image-file.ts'
import type { ImageInputModel } from '../../models/model.ts'

/** All of fetching one image that a request names by its address; its caller waits. */
export const imageFetchMs = 20_000

export interface ImageSource {
  /** Where in the request it stands. */
  path: readonly (string | number)[]
  input: ImageInput
}

interface SourceOptions {
  model: Pick<ImageInputModel, 'id' | 'shortestSide' | 'mostPixels'>
  fetcher: Fetcher
  signal: AbortSignal
}

/** What models that begin with images take; a moving one has no one image. */
const takenTypes = ['png', 'jpeg', 'webp'] as const

/**
 * A image as a request brings it, by its bytes and not by what is said of them. Throws `corruptedImage`,
 * `imageTooSmall`, `imageTooLarge`, `payloadTooLarge`, or `invalidRequest` that names the field.
 */
export async function sourceImage(source: ImageSource, options: SourceOptions): Promise<ImageFile> {
  const bytes = await bytesOf(source, options)
  if (bytes.length > uploadBytes) throw tooManyBytes()
  const type = typeOfBytes(bytes)
  if (type === null || !isTaken(type)) throw corrupted(source.path, `must be one of ${takenTypes.join(', ')}`)
  const size = imageSize(type, bytes)
  if (!size || !isWholeImage(type, bytes)) {
    throw corrupted(source.path, 'is cut off or damaged')
  }
  checkSize(source.path, size, options.model)
  return { type, bytes, ...size }
}

const isTaken = (type: string): boolean => takenTypes.some(each => each === type)

function checkSize(
  path: ImageSource['path'],
  { width, height }: { width: number; height: number },
  { id, shortestSide, mostPixels }: SourceOptions['model'],
): void {
  const is = `is ${width} by ${height}; ${id} takes`
  if (Math.min(width, height) < shortestSide) {
    const problem = fieldDetails(path, `${is} ${shortestSide} pixels a side at least`)
    throw imageTooSmall({ error: 'Image dimensions are too small', ...problem })
  }
  if (width * height > mostPixels) {
    throw tooLargeImage(path, `${is} ${mostPixels} pixels in all at most`)
  }
}

async function bytesOf({ path, input }: ImageSource, { fetcher, signal }: SourceOptions): Promise<Buffer> {
  if (typeof input !== 'string') {
    if (input.size > uploadBytes) throw tooManyBytes()
    return Buffer.from(await input.arrayBuffer())
  }
  if (/^https?:/i.test(input)) return fetched(path, { url: input, fetcher, signal })
  const head = /^data:[\w.+/-]{0,100};base64,/i.exec(input)?.[0] ?? ''
  // Lines may be broken, as programs that write base64 for mail do.
  const bytes = fromBase64(input.slice(head.length).replaceAll(/[\r\n]/g, ''))
  if (!bytes) throw fieldError(path, 'must be base64, a data URL with base64, or an http(s) address')
  return bytes
}

async function fetched(
  path: ImageSource['path'],
  { url, fetcher, signal }: Pick<SourceOptions, 'fetcher' | 'signal'> & { url: string },
): Promise<Buffer> {
  try {
    const order = { url, mostBytes: uploadBytes, timeoutMs: imageFetchMs, accept: 'image/*', signal }
    return (await fetcher.fetch(order)).bytes
  } catch (error) {
    if (!(error instanceof FetchRefused)) throw error
    if (error.reason === 'too_large') throw tooManyBytes()
    throw fieldError(path, error.reason === 'address' ? error.message : `could not be fetched: ${error.message}`)
  }
}

/** A 422 whose `details` say what is allowed. */
export const tooLargeImage = (path: ImageSource['path'], message: string) =>
  imageTooLarge({ error: 'Image dimensions exceed the maximum allowed.', ...fieldDetails(path, message) })

const corrupted = (path: ImageSource['path'], message: string) =>
  corruptedImage({ error: 'The image file is corrupted or unreadable', ...fieldDetails(path, message) })

const tooManyBytes = () =>
  payloadTooLarge({
    code: 'PAYLOAD_TOO_LARGE',
    error: `The request payload is too large. Please reduce the size of your request. An image may have at most ${uploadBytes} bytes.`,
  })
