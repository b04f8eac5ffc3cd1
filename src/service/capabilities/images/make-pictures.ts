import { microUsd } from '#contract/money.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import { typeOfBytes } from '#contract/wire/image-header.ts'
import { imageFileBytes } from '#engines/images/image-file.ts'
import type { ImageRequest } from '#engines/ports/image-engines.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import type { BytesReply, Call, JsonReply } from '../../http/call.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import type { ImageModel } from '../../models/model.ts'
import { moderatedImages } from './moderated-images.ts'
import { imageLines } from './price-image.ts'

export interface PictureOrder {
  model: ImageModel
  request: ImageRequest
  /** The answer, once the pictures are there. */
  replyOf(made: Made): JsonReply | BytesReply
}

export interface Made {
  pictures: readonly Buffer[]
  format: ImageFormat
  startedAtMs: number
  endedAtMs: number
}

/** Holds the price of all pictures, and charges those that the engine made. */
export async function makePictures(call: Call, { model, request, replyOf }: PictureOrder, service: Service) {
  const sale = { model: model.id, amount: microUsd(model.price.perPictureMicroUsd * BigInt(request.count)) }
  return sell(call, sale, service, async () => {
    const { signal } = call
    const startedAtMs = service.clock.now()
    const { engineModel } = model
    const pictures = await moderatedImages(
      call,
      {
        ...request,
        make: async found => {
          const asked = { request, engineModel, signal, found }
          return checked(await boundedWait(model.engine.generate(asked), { signal }), request)
        },
      },
      service,
    )
    signal.throwIfAborted()
    const reply = replyOf({ pictures, format: request.format, startedAtMs, endedAtMs: service.clock.now() })
    return { value: reply, lines: imageLines(model, pictures.length), alsoCommit: () => call.keep(() => reply) }
  })
}

/** What is no picture of the format that was asked for is not sold. */
function checked(pictures: readonly Buffer[], { count, format }: ImageRequest): readonly Buffer[] {
  const areGood = pictures.every(bytes => bytes.length <= imageFileBytes && typeOfBytes(bytes) === format)
  if (pictures.length === 0 || pictures.length > count || !areGood) {
    throw new Error(`The engine made no ${format} of this request.`)
  }
  return pictures
}
