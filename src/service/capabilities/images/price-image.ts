import { type MicroUsd, microUsd } from '#contract/money.ts'
import type { EditRequest } from '#engines/ports/media-engines.ts'
import type { Line } from '#ledger/store/units.ts'
import type { EditModel, ImageModel, UpscaleModel } from '../../models/model.ts'

const picoPerMicro = 1_000_000n

/** One line for all images of a request. */
export function imageLines({ price }: Pick<ImageModel, 'price'>, pictures: number): Line[] {
  const units = BigInt(pictures)
  const unitPricePicoUsd = price.perPictureMicroUsd * picoPerMicro
  return [{ sku: 'image.generation', units, unitPricePicoUsd, amount: microUsd(units * price.perPictureMicroUsd) }]
}

/** One image, whole or not at all. */
export function oneImageLine(sku: string, amount: MicroUsd): Line[] {
  return [{ sku, units: 1n, unitPricePicoUsd: amount * picoPerMicro, amount }]
}

/** By resolution and quality, where the model's price knows them. */
export function editPrice({ price }: EditModel, { resolution, quality }: Pick<EditRequest, 'resolution' | 'quality'>) {
  const named = resolution ?? Object.keys(price.resolutions ?? {})[0] ?? ''
  const byQuality = quality === undefined ? undefined : price.quality?.[named]?.[quality]
  return byQuality ?? price.resolutions?.[named] ?? price.perPictureMicroUsd
}

/** As the record says it: up to twice the size, and beyond. */
export const upscalePrice = ({ price }: UpscaleModel, scale: number): MicroUsd =>
  scale <= 2 ? price.twiceMicroUsd : price.fourTimesMicroUsd
