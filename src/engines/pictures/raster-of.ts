import type { ImageFormat } from '#contract/operations/images.ts'
import { typeOfBytes } from '#contract/wire/image-header.ts'
import { optionalPackage } from '#host/optional-package.ts'
import { decodePng } from './decode-png.ts'
import { encodePng, type Raster } from './encode-png.ts'

/** The part of sharp that is used here. */
interface Sharp {
  default(bytes: Buffer, options?: object): SharpPicture
}

interface SharpPicture {
  ensureAlpha(): SharpPicture
  rotate(): SharpPicture
  toColourspace(space: 'srgb'): SharpPicture
  raw(): SharpPicture
  toFormat(format: ImageFormat): SharpPicture
  toBuffer(): Promise<Buffer>
  toBuffer(options: { resolveWithObject: true }): Promise<{ data: Buffer; info: { width: number; height: number } }>
}

/** A picture whose bytes cannot be decoded; nobody's fault but its own. */
export class UnreadablePicture extends Error {
  override readonly name = 'UnreadablePicture'
}

const sharpOf = (neededFor: string) => optionalPackage<Sharp>('sharp', neededFor)

/** The pixels of a picture: plain PNGs with nothing installed, all others by sharp. Throws `UnreadablePicture`. */
export async function rasterOf(bytes: Buffer, pixelsAtMost: number): Promise<Raster> {
  const type = typeOfBytes(bytes)
  try {
    const plain = type === 'png' ? decodePng(bytes) : null
    if (plain) return plain
  } catch {
    throw new UnreadablePicture('The picture cannot be decoded.')
  }
  const sharp = await sharpOf(`Reading a picture of the type ${type ?? 'unknown'}`)
  try {
    // A photograph says in its header which side is up; what is made of it has no such header.
    const picture = sharp.default(bytes, { limitInputPixels: pixelsAtMost, failOn: 'error' }).rotate()
    const { data, info } = await picture.toColourspace('srgb').ensureAlpha().raw().toBuffer({ resolveWithObject: true })
    return { width: info.width, height: info.height, rgba: data }
  } catch {
    throw new UnreadablePicture('The picture cannot be decoded.')
  }
}

/** A picture in another format, by sharp; as it is where it has that format. Throws `UnreadablePicture`. */
export async function convertPicture(bytes: Buffer, format: ImageFormat, pixelsAtMost: number): Promise<Buffer> {
  if (typeOfBytes(bytes) === format) return bytes
  const sharp = await sharpOf(`Writing a picture as ${format}`)
  try {
    return await sharp.default(bytes, { limitInputPixels: pixelsAtMost }).toFormat(format).toBuffer()
  } catch {
    throw new UnreadablePicture('The picture cannot be decoded.')
  }
}

export const pngOf = (raster: Raster): Promise<Buffer> => encodePng(raster)
