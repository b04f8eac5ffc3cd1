import type { MicroUsd } from '#contract/money.ts'
import {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  MultiEditImageRequest,
  UpscaleImageRequest,
} from '#contract/operations/images.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { mostOfAnswering } from './most-of-answering.ts'
import { dearestOf, hasOnly, unitsAt } from './unit-price.ts'

/**
 * The most that one changed picture can cost, where several prices stand in the record the dearest. Null where it cannot be
 * said: no price, one of something else beside it, or a member that nobody here knows.
 */
export const editBound = (
  record: ModelRecord,
  body: object,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null => (isKnownEdit(body) ? mostOfAnswering(record, records, dearestEdit) : null)

function dearestEdit({ model_spec: { pricing } }: ModelRecord): MicroUsd | null {
  if (!pricing || 'output' in pricing || !hasOnly(pricing, ['inpaint', 'resolutions', 'quality'])) return null
  const qualities = Object.values(pricing.quality ?? {}).flatMap(prices => Object.values(prices))
  return unitsAt(1, dearestOf([pricing.inpaint, ...Object.values(pricing.resolutions ?? {}), ...qualities]))
}

/** A request for an edit names one picture, or several. */
const isKnownEdit = (body: object): boolean =>
  !hasOtherMembers(body, 'images' in body ? MultiEditImageRequest.shape : EditImageRequest.shape)

/** The same of one larger picture: up to twice the size, and beyond. */
export function upscaleBound(
  record: ModelRecord,
  body: { scale?: unknown },
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, UpscaleImageRequest.shape)) return null
  // In a form it is a text; what is no number is refused, and costs nothing.
  const step = Number(body.scale ?? defaultScale) <= defaultScale ? '2x' : '4x'
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) =>
    pricing && !('output' in pricing) && hasOnly(pricing, ['upscale'])
      ? unitsAt(1, dearestOf([pricing.upscale?.[step]]))
      : null,
  )
}

/** The same of one picture without its background. */
export function backgroundBound(
  record: ModelRecord,
  body: object,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, BackgroundRemoveImageRequest.shape)) return null
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) =>
    pricing && !('output' in pricing) && hasOnly(pricing, ['generation'])
      ? unitsAt(1, dearestOf([pricing.generation]))
      : null,
  )
}

/** Of the contract, where a request names none. */
const defaultScale = 2
