import { balanceRemaining } from '#contract/headers.ts'
import type { ImageFormat } from '#contract/images.ts'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { boundedWait } from '../bounded-wait.ts'
import { type BytesReply, type Call, type JsonReply, principalOf } from '../call.ts'
import type { PictureRequest } from '../engines/engine.ts'
import { withCharge } from '../ledger/charges.ts'
import { shortage, totalOf } from '../ledger/funding.ts'
import { pictureBytes } from '../models/bounds.ts'
import type { ImageModel } from '../models/model.ts'
import { typeOfBytes } from '../models/picture-header.ts'
import { imageLines } from '../pricing/price-image.ts'
import type { Service } from '../service.ts'

export interface PictureOrder {
  model: ImageModel
  request: PictureRequest
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
  const { value, charged } = await withCharge(service.charges, await orderOf(call, model, request.count), async () => {
    const { signal } = call
    const startedAtMs = service.clock.now()
    const result = await boundedWait(model.engine.generate({ request, engineModel: model.engineModel, signal }), {
      signal,
    })
    signal.throwIfAborted()
    const pictures = checked(result, request)
    const reply = replyOf({ pictures, format: request.format, startedAtMs, endedAtMs: service.clock.now() })
    return { value: reply, lines: imageLines(model, pictures.length), alsoCommit: () => call.keep(() => reply) }
  })
  if (call.principal?.kind === 'wallet' && charged.availableMicroUsd !== null) {
    call.set(balanceRemaining, charged.availableMicroUsd)
  }
  return value
}

async function orderOf(call: Call, model: ImageModel, count: number) {
  const spendable = await call.spendable()
  const amount: MicroUsd = microUsd(model.price.perPictureMicroUsd * BigInt(count))
  if (amount > totalOf(spendable)) throw shortage(spendable, amount)
  const { requestId: request, holdId } = call
  return { request, holdId, principal: principalOf(call), model: model.id, amount }
}

/** What is no picture of the format that was asked for is not sold. */
function checked(pictures: readonly Buffer[], { count, format }: PictureRequest): readonly Buffer[] {
  const areGood = pictures.every(bytes => bytes.length <= pictureBytes && typeOfBytes(bytes) === format)
  if (pictures.length === 0 || pictures.length > count || !areGood) {
    throw new Error(`The engine made no ${format} of this request.`)
  }
  return pictures
}
