import { addUsd, type MicroUsd, priceLines } from '#contract/money.ts'
import type { ModelPricing } from '#contract/operations/models.ts'

type Price = { usd: number } | undefined

/** Pico-USD of a price that stands in a record; null where it is finer than that, below zero or no number. */
export function picoUsdOf(usd: number): bigint | null {
  const match = /^(\d{1,9})(?:\.(\d+))?(?:e-(\d+))?$/.exec(String(usd))
  if (!match) return null
  const [, whole = '', fraction = '', exponent = '0'] = match
  const places = fraction.length + Number(exponent)
  return places > picoPlaces ? null : BigInt(whole + fraction) * 10n ** BigInt(picoPlaces - places)
}

const picoPlaces = 12

/** Pico-USD of the dearest of these; null where there is none, or where one cannot be read: it may be the dearest. */
export function dearestOf(prices: readonly Price[]): bigint | null {
  let most: bigint | null = null
  for (const price of prices) {
    if (!price) continue
    const picoUsd = picoUsdOf(price.usd)
    if (picoUsd === null) return null
    if (most === null || picoUsd > most) most = picoUsd
  }
  return most
}

/** What so many units cost at the price of one, rounded up as a service does. */
export const unitsAt = (units: number, unitPricePicoUsd: bigint | null): MicroUsd | null =>
  unitPricePicoUsd === null ? null : addUsd(...priceLines([{ units: BigInt(units), unitPricePicoUsd }]))

/** Whether a record has prices of these kinds and of no other one, which might come on top. */
export const hasOnly = (pricing: ModelPricing | undefined, kinds: readonly string[]): boolean =>
  pricing !== undefined && Object.entries(pricing).every(([kind, price]) => price === undefined || kinds.includes(kind))
