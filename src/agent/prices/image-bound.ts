import type { MicroUsd } from '#contract/money.ts'
import type { GenerateImageRequest, SimpleImageRequest } from '#contract/operations/images.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { mostOfAnswering } from './most-of-answering.ts'
import { dearestOf, hasOnly, unitsAt } from './unit-price.ts'

/** What a program asks for pictures with: the service's own request, or that of OpenAI. */
export type ImageRequest = Partial<GenerateImageRequest | SimpleImageRequest> &
  Pick<Partial<GenerateImageRequest>, 'variants' | 'enable_web_search'>

/**
 * The most that pictures can cost, where several prices stand in the record the dearest. Null where it cannot be said: no
 * price, one of something else beside the pictures, a search, or a member that `shape`, the request's own, does not name.
 */
export function imageBound(
  record: ModelRecord,
  body: ImageRequest,
  { shape }: typeof GenerateImageRequest | typeof SimpleImageRequest,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, shape) || body.enable_web_search) return null
  return mostOfAnswering(record, records, model => unitsAt(body.variants ?? 1, dearestPicture(model)))
}

/** Pico-USD a picture. Changing a picture afterwards is another call, whose prices stand in the same record. */
const dearestPicture = ({ model_spec: { pricing } }: ModelRecord): bigint | null =>
  !pricing || 'output' in pricing || !hasOnly(pricing, ['generation', 'resolutions', 'quality', 'upscale'])
    ? null
    : dearestOf([
        pricing.generation,
        ...Object.values(pricing.resolutions ?? {}),
        ...Object.values(pricing.quality ?? {}).flatMap(prices => Object.values(prices)),
      ])
