import { type MicroUsd, toUsdNumber } from '#contract/money.ts'
import type { BackgroundModel, EditModel, UpscaleModel } from './picture-model.ts'

/** What the record of a model that changes pictures says of it (published contract §6.1, `inpaint`). */
export function editSpec({ promptCharacters, aspectRatios, mostPictures, price }: EditModel) {
  const resolutions = Object.keys(price.resolutions ?? {})
  const qualities = qualitiesOf(price)
  return {
    constraints: {
      promptCharacterLimit: promptCharacters,
      aspectRatios: [...aspectRatios],
      combineImages: mostPictures > 1,
      ...(resolutions[0] === undefined ? {} : { resolutions, defaultResolution: resolutions[0] }),
      ...(qualities[0] === undefined ? {} : { qualities }),
    },
    pricing: {
      inpaint: pair(price.perPictureMicroUsd),
      ...(price.resolutions ? { resolutions: pairs(price.resolutions) } : {}),
      ...(price.quality
        ? { quality: Object.fromEntries(Object.entries(price.quality).map(([name, each]) => [name, pairs(each)])) }
        : {}),
    },
  }
}

/** Qualities that a request may ask for, at any resolution. */
export function qualitiesOf({ quality = {} }: EditModel['price']): ('low' | 'medium' | 'high')[] {
  const named = new Set(Object.values(quality).flatMap(Object.keys))
  return (['low', 'medium', 'high'] as const).filter(each => named.has(each))
}

export const upscaleSpec = ({ price }: UpscaleModel) => ({
  pricing: { upscale: { '2x': pair(price.twiceMicroUsd), '4x': pair(price.fourTimesMicroUsd) } },
})

export const backgroundSpec = ({ price }: BackgroundModel) => ({
  pricing: { generation: pair(price.perPictureMicroUsd) },
})

/** A staking credit is worth a USD (brief §5.4). */
function pair(amount: MicroUsd) {
  const usd = toUsdNumber(amount)
  return { usd, diem: usd }
}

const pairs = (prices: Readonly<Record<string, MicroUsd>>) =>
  Object.fromEntries(Object.entries(prices).map(([name, amount]) => [name, pair(amount)]))
