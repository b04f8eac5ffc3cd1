import type { GenerateImageRequest, SimpleImageRequest } from '#contract/images.ts'
import type { ModelRecord } from '#contract/models.ts'
import { addUsd, type MicroUsd, priceLines, pricePerMillion } from '#contract/money.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { mostOfAnswering } from './most-of-answering.ts'

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
  const units = BigInt(body.variants ?? 1)
  return mostOfAnswering(record, records, model => {
    const unitPricePicoUsd = dearestPicture(model)
    return unitPricePicoUsd === null ? null : addUsd(...priceLines([{ units, unitPricePicoUsd }]))
  })
}

const millionUnits = 1_000_000n

/** Pico-USD a picture. Null where one of the prices cannot be read: it may be the dearest. */
function dearestPicture({ model_spec: { pricing } }: ModelRecord): bigint | null {
  if (!pricing || 'output' in pricing || pricing.input) return null
  const qualities = Object.values(pricing.quality ?? {}).flatMap(prices => Object.values(prices))
  const prices = [pricing.generation, ...Object.values(pricing.resolutions ?? {}), ...qualities].filter(Boolean)
  const amounts = prices.map(price => pricePerMillion(String(price?.usd)))
  let most: bigint | null = null
  for (const amount of amounts) {
    if (amount === null) return null
    if (most === null || amount > most) most = amount
  }
  return most === null ? null : most * millionUnits
}
