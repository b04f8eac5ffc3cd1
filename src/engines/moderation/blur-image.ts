import type { ImageFormat } from '#contract/operations/images.ts'
import { optionalPackage } from '#host/optional-package.ts'
import { blurShare } from './bounds.ts'

interface Image {
  metadata(): Promise<{ width?: number; height?: number }>
  blur(sigma: number): Image
  toFormat(format: ImageFormat): Image
  toBuffer(): Promise<Buffer>
}

/** The same image with nothing to make out, in the same format and size, without what a camera or a model wrote into it. */
export async function blurImage(bytes: Uint8Array, format: ImageFormat): Promise<Buffer> {
  const { default: sharp } = await optionalPackage<{ default: (bytes: Uint8Array) => Image }>(
    'sharp',
    'Blurring images',
  )
  const image = sharp(bytes)
  const { width = 0, height = 0 } = await image.metadata()
  return image
    .blur(Math.max(1, Math.max(width, height) * blurShare))
    .toFormat(format)
    .toBuffer()
}
