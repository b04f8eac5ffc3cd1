import type { MicroUsd } from '#contract/money.ts'
import {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  GenerateImageRequest,
  MultiEditImageRequest,
  SimpleImageRequest,
  UpscaleImageRequest,
} from '#contract/operations/images.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { mostOfAsked, shownModel } from './model-records.ts'
import { hasOnly, highestOf, mostOfAnswering, type Pricer, unitsAt } from './priced-call.ts'

const pricedFrom =
  (request: typeof GenerateImageRequest | typeof SimpleImageRequest): Pricer =>
  async ({ models }, call) => {
    const body = call as ImageRequest
    return {
      what: `Images by ${shownModel(body.model)}`,
      amountMicroUsd: await mostOfAsked(models, 'image', body.model, (record, all) =>
        imageBound(record, body, request, all),
      ),
    }
  }

export const priceImages = pricedFrom(GenerateImageRequest)
export const priceSimpleImages = pricedFrom(SimpleImageRequest)

export const priceEdit: Pricer = async ({ models }, call) => {
  const { model: newer, modelId: older } = call as Partial<EditImageRequest>
  // The older member counts if the newer one is absent or has its default value.
  const name = newer === undefined || newer === 'default' ? (older ?? newer) : newer
  return {
    what: `An edited image by ${shownModel(name)}`,
    amountMicroUsd: await mostOfAsked(models, 'inpaint', name, (record, all) => editBound(record, call as object, all)),
  }
}

export const priceUpscale: Pricer = async ({ models }, call) => {
  const body = call as Partial<UpscaleImageRequest>
  return {
    what: `An upscaled image by ${shownModel(body.model)}${atTheDearerPrice(Number(body.scale))}`,
    amountMicroUsd: await mostOfAsked(models, 'upscale', body.model, (record, all) => upscaleBound(record, body, all)),
  }
}

/** Any scale between two and four costs as much as four. */
const atTheDearerPrice = (scale: number): string =>
  scale > 2 && scale < 4 ? `, ${scale} times the size, which costs as much as 4 times` : ''

export const priceBackground: Pricer = async ({ models }, call) => {
  const body = call as Partial<BackgroundRemoveImageRequest>
  return {
    what: `Background removal by ${shownModel(body.model)}`,
    amountMicroUsd: await mostOfAsked(models, 'background', body.model, (record, all) =>
      backgroundBound(record, body, all),
    ),
  }
}

/**
 * Returns the maximum cost of one edited image; if the record has several prices, the highest. Null if it is unknown:
 * no price, a price for something additional, or an unknown member.
 */
const editBound = (record: ModelRecord, body: object, records: readonly ModelRecord[] = [record]): MicroUsd | null =>
  isKnownEdit(body) ? mostOfAnswering(record, records, highestEditPrice) : null

function highestEditPrice({ model_spec: { pricing } }: ModelRecord): MicroUsd | null {
  if (!pricing || 'output' in pricing || !hasOnly(pricing, ['inpaint', 'resolutions', 'quality'])) return null
  const qualities = Object.values(pricing.quality ?? {}).flatMap(prices => Object.values(prices))
  return unitsAt(1, highestOf([pricing.inpaint, ...Object.values(pricing.resolutions ?? {}), ...qualities]))
}

/** A request for an edit names one image, or several. */
const isKnownEdit = (body: object): boolean =>
  !hasOtherMembers(body, 'images' in body ? MultiEditImageRequest.shape : EditImageRequest.shape)

/** Returns the maximum cost of one upscaled image, which depends on whether it grows beyond twice its size. */
function upscaleBound(
  record: ModelRecord,
  body: { scale?: unknown },
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, UpscaleImageRequest.shape)) return null
  // In a form it is text; anything that is not a number is refused and costs nothing.
  const step = Number(body.scale ?? defaultScale) <= defaultScale ? '2x' : '4x'
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) =>
    pricing && !('output' in pricing) && hasOnly(pricing, ['upscale'])
      ? unitsAt(1, highestOf([pricing.upscale?.[step]]))
      : null,
  )
}

/** Returns the maximum cost of removing the background of one image. Null if it is unknown. */
function backgroundBound(
  record: ModelRecord,
  body: object,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, BackgroundRemoveImageRequest.shape)) return null
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) =>
    pricing && !('output' in pricing) && hasOnly(pricing, ['generation'])
      ? unitsAt(1, highestOf([pricing.generation]))
      : null,
  )
}

/** The contract's default. */
const defaultScale = 2

/** An image request of a program: the service's own, or OpenAI's. */
type ImageRequest = Partial<GenerateImageRequest | SimpleImageRequest> &
  Pick<Partial<GenerateImageRequest>, 'variants' | 'enable_web_search'>

/**
 * Returns the maximum cost of images; if the record has several prices, the highest. Null if it is unknown: no price, a
 * price for something additional to the images, a search, or a member that `shape`, the request's schema, does not
 * name.
 */
export function imageBound(
  record: ModelRecord,
  body: ImageRequest,
  { shape }: typeof GenerateImageRequest | typeof SimpleImageRequest,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, shape) || body.enable_web_search) return null
  return mostOfAnswering(record, records, model => unitsAt(body.variants ?? 1, highestImagePrice(model)))
}

/** Pico-USD per image. A later edit is another call, whose prices are in the same record. */
const highestImagePrice = ({ model_spec: { pricing } }: ModelRecord): bigint | null =>
  !pricing || 'output' in pricing || !hasOnly(pricing, ['generation', 'resolutions', 'quality', 'upscale'])
    ? null
    : highestOf([
        pricing.generation,
        ...Object.values(pricing.resolutions ?? {}),
        ...Object.values(pricing.quality ?? {}).flatMap(prices => Object.values(prices)),
      ])
