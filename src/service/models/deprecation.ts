import type { HeaderCodec } from '#contract/wire/header-codec.ts'
import { deprecated, deprecatedReplacement, deprecationDate, deprecationWarning } from '#contract/wire/headers.ts'
import type { Model } from './model.ts'

/** Published contract §12: a model that will be removed says so, and what answers for it afterwards. */

export const isRemoved = ({ deprecation }: Model, nowMs: number): boolean =>
  deprecation !== undefined && nowMs >= Date.parse(deprecation.removesAt)

/** The id of what stands in for it once it is removed; null where nothing does. */
export const replacementOf = ({ deprecation }: Model): string | null =>
  deprecation?.autoRemap ? (deprecation.replacementModelId ?? null) : null

/** Sets the headers of an answer for whoever asked for such a model. */
export function tellDeprecation(
  set: <Value>(codec: HeaderCodec<Value>, value: Value) => void,
  { id, deprecation }: Model,
  nowMs: number,
): void {
  if (!deprecation || (deprecation.startsAt !== undefined && nowMs < Date.parse(deprecation.startsAt))) return
  const { removesAt, replacementModelId: replacement } = deprecation
  const end = nowMs < Date.parse(removesAt) ? `is deprecated and will be removed on ${removesAt}` : 'was removed'
  const advice = replacement === undefined ? 'Choose another model.' : `Use ${replacement} instead.`
  set(deprecationWarning, `${id} ${end}. ${advice}`)
  set(deprecationDate, removesAt)
  set(deprecated, true)
  if (replacement !== undefined) set(deprecatedReplacement, replacement)
}

/** Throws a sentence where what stands in for a model could not, or would cost its callers more. */
export function checkDeprecation(model: Model, models: readonly Model[]): void {
  const { id, type, deprecation } = model
  if (!deprecation) return
  const { date, removesAt, startsAt } = deprecation
  for (const moment of [date, removesAt, ...(startsAt === undefined ? [] : [startsAt])]) {
    if (!Number.isFinite(Date.parse(moment)))
      throw new Error(`Model ${id} is deprecated at ${moment}, which is no time.`)
  }
  const replacementId = replacementOf(model)
  if (replacementId === null) return
  const replacement = models.find(other => other.id === replacementId && other.type === type)
  if (!replacement)
    throw new Error(`Model ${id} is to be replaced by ${replacementId}, and there is no such model of its type.`)
  const end = replacement.deprecation && Date.parse(replacement.deprecation.removesAt)
  if (end !== undefined && end <= Date.parse(removesAt)) {
    throw new Error(`Model ${id} is to be replaced by ${replacementId}, which is removed before it.`)
  }
  const dearer = dearerMember(priceOf(model), priceOf(replacement))
  if (dearer !== null)
    throw new Error(`Model ${id} is to be replaced by ${replacementId}, which costs more (${dearer}).`)
}

type Prices = ReadonlyMap<string, bigint>

/** Every amount of a price by its name; what a cache gives or takes costs as input where it has no price of its own. */
function priceOf(model: Model): Prices {
  const { price } = model as { price?: object }
  const amounts = new Map(amountsOf(price ?? {}, ''))
  if (model.type === 'text') {
    const { inputPicoUsd, cachedInputPicoUsd = inputPicoUsd, cacheWritePicoUsd = inputPicoUsd } = model.price
    amounts.set('cachedInputPicoUsd', cachedInputPicoUsd).set('cacheWritePicoUsd', cacheWritePicoUsd)
  }
  return amounts
}

const amountsOf = (price: object, before: string): [string, bigint][] =>
  Object.entries(price).flatMap(([name, value]): [string, bigint][] => {
    if (typeof value === 'bigint') return [[`${before}${name}`, value]]
    return typeof value === 'object' && value !== null ? amountsOf(value, `${before}${name} `) : []
  })

/** The first amount that is higher, or that is asked for by one alone. */
function dearerMember(former: Prices, next: Prices): string | null {
  for (const [name, amount] of next) if ((former.get(name) ?? -1n) < amount) return name
  return [...former.keys()].find(name => !next.has(name)) ?? null
}
