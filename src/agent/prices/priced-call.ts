import type { Client } from '#client/client.ts'
import { addUsd, type MicroUsd, priceLines, zeroUsd } from '#contract/money.ts'
import type { ModelPricing, ModelRecord } from '#contract/operations/models.ts'
import type { ModelRecords } from './model-records.ts'

export interface PricedCall {
  /** What would be bought, in our words. */
  what: string
  /** What it costs, or the most that it can cost; null where that cannot be said beforehand. */
  amountMicroUsd: MicroUsd | null
}

/** What prices are read from. */
interface PriceSources {
  client: Client
  models: ModelRecords
}

/** Prices one operation's calls. `body` has passed the operation's schema, or is what our own code writes. */
export type Pricer = (sources: PriceSources, body: unknown) => Promise<PricedCall>

type Price = { usd: number } | undefined

/** Pico-USD of a price that stands in a record; null where it is finer than that, below zero or no number. */
function picoUsdOf(usd: number): bigint | null {
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

/** The most that any of the models takes which may answer for this one; null where one of them has no bound. */
export function mostOfAnswering(
  record: ModelRecord,
  records: readonly ModelRecord[],
  boundAt: (model: ModelRecord) => MicroUsd | null,
): MicroUsd | null {
  const models = answeringModels(record, records)
  return models && mostOf(models, boundAt)
}

/** The most that any of these takes; null where one of them has no bound. */
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
 * The model itself, and where its service may answer by a replacement, that one as well, and so on: on which day it begins
 * to is the service's to say. Null where a replacement is not known.
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
