import { microUsd } from '#contract/money.ts'
import type { Line } from '#ledger/store/units.ts'
import type { ImageModel } from '../../models/model.ts'

const picoPerMicro = 1_000_000n

/** One line for all pictures of a request. */
export function imageLines({ price }: Pick<ImageModel, 'price'>, pictures: number): Line[] {
  const units = BigInt(pictures)
  const unitPricePicoUsd = price.perPictureMicroUsd * picoPerMicro
  return [{ sku: 'image.generation', units, unitPricePicoUsd, amount: microUsd(units * price.perPictureMicroUsd) }]
}
