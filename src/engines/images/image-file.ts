import { type ImageType, imageSize, isWholeImage, knownImageTypes, typeOfBytes } from '#contract/wire/image-header.ts'

/** Largest decoded image file; the body limit of video requests is 35 MB with base64. */
export const imageFileBytes = 20 * 1024 * 1024

/** Most pixels in an image: a phone's camera produces 50 million, a decompression bomb billions. */
export const imagePixels = 64_000_000

export interface ImageFile {
  type: ImageType
  bytes: Buffer
  width: number
  height: number
}

type ImageRead = { ok: true; image: ImageFile } | { ok: false; problem: string }

const dataUrl = /^data:image\/([a-z0-9.+-]{1,40});base64,/i
const notBase64 = /[^A-Za-z0-9+/=]/

const problem = (text: string): ImageRead => ({ ok: false, problem: text })

/** Reads an image from a data URL: its declared type, its base64, its header and its size must be consistent. */
export function readImage(url: string): ImageRead {
  if (/^https?:/i.test(url))
    return problem('URLs are not fetched here; send the image as a data URL (data:image/png;base64,…)')
  const head = dataUrl.exec(url)
  if (!head)
    return problem(
      `must be a data URL with base64: data:image/TYPE;base64,… with TYPE one of ${knownImageTypes.join(', ')}`,
    )
  const declared = declaredType(head[1] ?? '')
  if (!declared) return problem(`the image's type must be one of ${knownImageTypes.join(', ')}`)
  const text = url.slice(head[0].length)
  if (text.length > Math.ceil(imageFileBytes / 3) * 4)
    return problem(`the image may have ${imageFileBytes} bytes at most`)
  const bytes = fromBase64(text)
  if (!bytes) return problem('the data URL is not valid base64')
  return readImageBytes(declared, bytes)
}

/** `declared` is null if the image came from a URL, where only the bytes count. */
export function readImageBytes(declared: ImageType | null, bytes: Buffer): ImageRead {
  const type = typeOfBytes(bytes)
  if (type === null) return problem(`the bytes are not an image of the types ${knownImageTypes.join(', ')}`)
  if (declared !== null && type !== declared)
    return problem(`the data URL declares ${declared}, but its bytes are ${type}`)
  const size = imageSize(type, bytes)
  if (!size || !isWholeImage(type, bytes)) return problem('the image is cut off or damaged')
  if (size.width * size.height > imagePixels) return problem(`the image may have ${imagePixels} pixels at most`)
  return { ok: true, image: { type, bytes, ...size } }
}

function declaredType(word: string): ImageType | undefined {
  const lower = word.toLowerCase()
  return knownImageTypes.find(type => type === (lower === 'jpg' ? 'jpeg' : lower))
}

/**
 * Returns null if the text is empty or not base64. Node's decoder skips what it does not know, so the length shows
 * whether all of it was base64.
 */
export function fromBase64(text: string): Buffer | null {
  if (text.length === 0 || text.length % 4 !== 0 || notBase64.test(text)) return null
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === (text.length / 4) * 3 - padding ? bytes : null
}
