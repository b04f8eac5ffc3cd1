import type { Client } from '#client/client.ts'
import { addUsd, type MicroUsd, priceLines, zeroUsd } from '#contract/money.ts'
import type { ModelPricing, ModelRecord } from '#contract/operations/models.ts'
import type { ModelRecords } from './model-records.ts'

export interface PricedCall {
  /** What the call buys, in our words. */
  what: string
  /** Its cost or maximum cost; null if that is unknown in advance. */
  amountMicroUsd: MicroUsd | null
}

/** Where prices come from. */
interface PriceSources {
  client: Client
  models: ModelRecords
}

/** Prices one operation's calls. `body` has passed the operation's schema, or was written by our own code. */
export type Pricer = (sources: PriceSources, body: unknown) => Promise<PricedCall>

type Price = { usd: number } | undefined

/** Returns a record's price in pico-USD; null if it is finer than that, negative or not a number. */
function picoUsdOf(usd: number): bigint | null {
  const match = /^(\d{1,9})(?:\.(\d+))?(?:e-(\d+))?$/.exec(String(usd))
  if (!match) return null
  const [, whole = '', fraction = '', exponent = '0'] = match
  const places = fraction.length + Number(exponent)
  return places > picoPlaces ? null : BigInt(whole + fraction) * 10n ** BigInt(picoPlaces - places)
}

const picoPlaces = 12

/**
 * Returns the highest price in pico-USD; null if the list is empty, or if one cannot be parsed, because it may be the
 * highest.
 */
export function highestOf(prices: readonly Price[]): bigint | null {
  let most: bigint | null = null
  for (const price of prices) {
    if (!price) continue
    const picoUsd = picoUsdOf(price.usd)
    if (picoUsd === null) return null
    if (most === null || picoUsd > most) most = picoUsd
  }
  return most
}

/** Returns the price of this many units, rounded up as a service does. */
export const unitsAt = (units: number, unitPricePicoUsd: bigint | null): MicroUsd | null =>
  unitPricePicoUsd === null ? null : addUsd(...priceLines([{ units: BigInt(units), unitPricePicoUsd }]))

/** Whether a record has only prices of these kinds, and no other that might be added. */
export const hasOnly = (pricing: ModelPricing | undefined, kinds: readonly string[]): boolean =>
  pricing !== undefined && Object.entries(pricing).every(([kind, price]) => price === undefined || kinds.includes(kind))

/** Returns the highest price of all models that may answer for this one; null if one of them has no maximum. */
export function mostOfAnswering(
  record: ModelRecord,
  records: readonly ModelRecord[],
  boundAt: (model: ModelRecord) => MicroUsd | null,
): MicroUsd | null {
  const models = answeringModels(record, records)
  return models && mostOf(models, boundAt)
}

/** Returns the highest of these; null if one of them has no maximum. */
export function mostOf(
  records: readonly ModelRecord[],
  boundAt: (model: ModelRecord) => MicroUsd | null,
): MicroUsd | null {
  let most: MicroUsd = zeroUsd
  for (const record of records) {
    const amount = boundAt(record)
    if (amount === null) return null
    if (amount > most) most = amount
  }
  return most
}

/**
 * Returns the model itself, its replacement if it has one, that model's replacement, and so on, because the service
 * decides when a replacement starts. Null if a replacement is unknown.
 */
function answeringModels(record: ModelRecord, records: readonly ModelRecord[]): ModelRecord[] | null {
  const models = [record]
  for (let last: ModelRecord = record; last.model_spec.deprecation?.autoRemap; ) {
    const { replacementModelId: id } = last.model_spec.deprecation
    if (models.some(model => model.id === id)) return models
    const next = records.find(model => model.id === id)
    if (!next) return null
    models.push(next)
    last = next
  }
  return models
}
