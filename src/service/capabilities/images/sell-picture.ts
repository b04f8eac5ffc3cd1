import { ServiceError } from '#contract/errors/service-error.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import { typeOfBytes } from '#contract/wire/image-header.ts'
import { imageFileBytes } from '#engines/images/image-file.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import type { BytesReply, Call } from '../../http/call.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import type { PictureModel } from '../../models/picture-model.ts'
import { moderatedImages } from './moderated-images.ts'
import { pictureLines } from './price-edited-image.ts'

export interface OnePicture {
  model: PictureModel
  amount: MicroUsd
  sku: string
  format: ImageFormat
  /** Whether the caller wants pictures of adults blurred; absent where nobody can ask for it. */
  safeMode?: boolean
  /** What a caller is told where the engine fails without saying why. */
  failed: () => ServiceError
  make(): Promise<Buffer>
}

/** Holds the price of one picture, has it made, and charges for it once it is one. */
export function sellPicture(call: Call, order: OnePicture, service: Service): Promise<BytesReply> {
  const { model, amount, sku, format } = order
  return sell(call, { model: model.id, amount }, service, async () => {
    const work = { ...order, make: async () => [await made(call, order, service)] }
    const [bytes = Buffer.alloc(0)] = await moderatedImages(call, work, service)
    const reply: BytesReply = { kind: 'bytes', mimeType: `image/${format}`, bytes }
    return { value: reply, lines: pictureLines(sku, amount), alsoCommit: () => call.keep(() => reply) }
  })
}

/** What an engine says by an error of ours is the answer; anything else is for the log. */
async function made({ signal, requestId }: Call, { make, failed, format }: OnePicture, { log }: Service) {
  try {
    const bytes = await boundedWait(make(), { signal })
    signal.throwIfAborted()
    if (bytes.length <= imageFileBytes && typeOfBytes(bytes) === format) return bytes
    throw new Error(`The engine made no ${format} of this request.`)
  } catch (error) {
    if (signal.aborted) throw error
    if (error instanceof ServiceError && error.kind !== 'INFERENCE_FAILED') throw error
    log.warn({ requestId, err: error }, 'An engine failed at a picture; nothing was charged.')
    throw failed()
  }
}
