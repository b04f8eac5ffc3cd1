import { sql } from 'kysely'
import { queryTimedOut } from '#contract/errors/errors.ts'
import { toUsdNumber } from '#contract/money.ts'
import type { UsageAnalytics } from '#contract/operations/billing.ts'
import { type Clock, dayMs, isAhead, minuteMs } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import type { Store } from '#ledger/store/store.ts'
import type { EntryTable } from '#ledger/store/tables.ts'
import type { DayRange } from '../../http/service.ts'
import type { Catalogue } from '../../models/catalogue.ts'
import type { Model } from '../../models/model.ts'

/** Every limit of usage analytics, with its unit. */

/** How long an account gets the same analytics from the cache (published contract §10.3). */
const analyticsFreshMs = 10 * minuteMs

/** Cached analytics; each takes some 100 KB for an account with hundreds of keys. */
const keptAnalytics = 200

/** Days that one query may cover, as published. */
export const analyticsDays = 90

/** How long a query may take before its caller is told to request less: well below the timeouts of proxies. */
const analyticsMs = 20_000

/** Names in a chart, as published. */
const chartNames = 8

interface Kept {
  untilMs: number
  answer: Promise<UsageAnalytics>
}

interface NamedTotal {
  name: string
  total: Total
}

/** Reports what an account used by day, model and key; computed once in ten minutes. */
export class UsageAnalyticsService {
  readonly #store: Pick<Store, 'read'>
  readonly #clock: Clock
  readonly #catalogue: Pick<Catalogue, 'models'>
  readonly #kept = new RecentMap<Kept>(keptAnalytics)

  constructor(options: { store: Pick<Store, 'read'>; clock: Clock; catalogue: Pick<Catalogue, 'models'> }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#catalogue = options.catalogue
  }

  /** Throws 504 if the ledger takes too long. Concurrent callers wait for the same query. */
  async of(account: string, days: DayRange): Promise<UsageAnalytics> {
    const name = JSON.stringify([account, days])
    const nowMs = this.#clock.now()
    const known = this.#kept.get(name)
    if (known && isAhead(known.untilMs, analyticsFreshMs, nowMs)) return known.answer
    const kept = { untilMs: nowMs + analyticsFreshMs, answer: this.#look(account, days) }
    this.#kept.set(name, kept)
    try {
      return await kept.answer
    } catch (error) {
      this.#kept.delete(name)
      throw error
    }
  }

  async #look(account: string, { lookback, firstDayMs, lastDayMs }: DayRange): Promise<UsageAnalytics> {
    const endMs = this.#clock.now() + analyticsMs
    const totals = new UsageTotals()
    for (let day = firstDayMs; day <= lastDayMs; day += dayMs) {
      totals.add(day, await dailyUse(this.#store, { account, fromMs: day, toMs: day + dayMs }))
      if (this.#clock.now() > endMs) throw queryTimedOut()
    }
    const days = [...totals.byDay.keys()]
    const models = this.#modelRows(totals)
    const keys = await this.#keyRows(account, totals)
    return {
      lookback,
      byDate: [...totals.byDay].map(([day, { usd, diem }]) => ({
        date: new Date(day).toISOString().slice(0, 10),
        USD: toUsdNumber(usd),
        DIEM: toUsdNumber(diem),
      })),
      byModel: models.map(({ row }) => row),
      byModelDaily: chartOf(days, models),
      topModels: topOf(models).map(({ name }) => name),
      byKey: keys.map(({ row }) => row),
      byKeyDaily: chartOf(days, keys),
      topKeyNames: topOf(keys).map(({ name }) => name),
    }
  }

  #modelRows({ byModel }: UsageTotals) {
    const known = new Map(this.#catalogue.models.map(model => [model.id, model]))
    const namesOf = uniqueNames()
    return highestFirst(byModel).map(([what, total]) => {
      const model = known.get(what)
      const name = namesOf(model?.name ?? what, what)
      const skus = [...total.bySku.keys()]
      const breakdown = breakdownOf(total)
      const row = {
        modelName: name,
        unitType: unitTypeOf(skus),
        modelType: modelTypeOf(model?.type, skus),
        ...shownTotals(total),
        ...(breakdown.length > 1 ? { breakdown } : {}),
      }
      return { name, total, row }
    })
  }

  async #keyRows(account: string, { byKey }: UsageTotals) {
    const rows = await this.#store.read
      .selectFrom('api_key')
      .select(['id', 'label', 'prefix'])
      .where('account', '=', account)
      .execute()
    const known = new Map(rows.map(row => [row.id, row]))
    const namesOf = uniqueNames()
    return highestFirst(byKey).map(([id, total]) => {
      const key = known.get(id)
      const description = namesOf(key ? key.label || `${key.prefix}…` : 'Wallet', key?.prefix ?? id)
      const row = { apiKeyId: id === '' ? null : id, description, ...shownTotals(total) }
      return { name: description, total, row }
    })
  }
}

const shownTotals = ({ usd, diem, units }: Total) => ({
  totalUsd: toUsdNumber(usd),
  totalDiem: toUsdNumber(diem),
  totalUnits: Number(units),
})

const topOf = <Row extends NamedTotal>(rows: readonly Row[]): Row[] => rows.slice(0, chartNames)

/** Makes the names in a chart unique: the second of two equal ones gets a suffix. */
function uniqueNames(): (name: string, other: string) => string {
  const taken = new Set(['date'])
  return (name, other) => {
    let unique = name
    for (let tries = 1; taken.has(unique); tries++) unique = `${name} (${other}${tries === 1 ? '' : ` ${tries}`})`
    taken.add(unique)
    return unique
  }
}

const chartOf = (days: readonly number[], rows: readonly NamedTotal[]): Record<string, number>[] =>
  days.map(day =>
    Object.fromEntries([
      ['date', day],
      ...topOf(rows).map(({ name, total }) => [name, toUsdNumber(total.byDay.get(day) ?? 0n)]),
    ]),
  )

/** What was paid for one model or by one key. */
interface Total {
  usd: bigint
  diem: bigint
  units: bigint
  /** The amount paid each day in USD and staking credit together, by the first millisecond of the day. */
  byDay: Map<number, bigint>
}

interface ModelTotal extends Total {
  model: string | null
  /** Prices and units of its lines, by product. */
  bySku: Map<string, { price: bigint; units: bigint }>
}

/** Totals of a period, added day by day; memory grows with models and keys times days, not with calls. */
class UsageTotals {
  readonly byDay = new Map<number, { usd: bigint; diem: bigint }>()
  readonly byModel = new Map<string, ModelTotal>()
  /** The empty name is for calls without a key. */
  readonly byKey = new Map<string, Total>()

  add(dayMs: number, uses: readonly DailyUse[]): void {
    const day = { usd: 0n, diem: 0n }
    for (const use of uses) {
      const paid = paidOf(use)
      day.usd += paid.usd
      day.diem += paid.diem
      const model = this.#modelOf(use)
      const units = use.kind === 'CHARGE' ? use.units : 0n
      for (const total of [model, this.#keyOf(use)]) {
        total.usd += paid.usd
        total.diem += paid.diem
        total.units += units
        total.byDay.set(dayMs, (total.byDay.get(dayMs) ?? 0n) + paid.usd + paid.diem)
      }
      if (use.kind === 'CHARGE' && use.sku !== null) addLine(model, use.sku, { price: -use.effect_usd, units })
    }
    this.byDay.set(dayMs, day)
  }

  #modelOf({ what, model }: DailyUse): ModelTotal {
    const known = this.byModel.get(what) ?? { ...nothing(), model, bySku: new Map() }
    this.byModel.set(what, known)
    return known
  }

  #keyOf({ api_key: key }: DailyUse): Total {
    const known = this.byKey.get(key ?? '') ?? nothing()
    this.byKey.set(key ?? '', known)
    return known
  }
}

const nothing = (): Total => ({ usd: 0n, diem: 0n, units: 0n, byDay: new Map() })

/** An amount that staking credit paid did not change the account's USD. */
const paidOf = ({ kind, effect_usd: effect }: DailyUse) => ({ usd: -effect, diem: kind === 'STAKING' ? effect : 0n })

function addLine({ bySku }: ModelTotal, sku: string, { price, units }: { price: bigint; units: bigint }): void {
  const known = bySku.get(sku) ?? { price: 0n, units: 0n }
  bySku.set(sku, { price: known.price + price, units: known.units + units })
}

/** Most expensive first, then by name, so that an answer does not depend on the order of rows. */
const highestFirst = <Row extends Total>(totals: ReadonlyMap<string, Row>): [name: string, total: Row][] =>
  [...totals].sort(([nameA, a], [nameB, b]) => {
    const difference = b.usd + b.diem - (a.usd + a.diem)
    if (difference !== 0n) return difference > 0n ? 1 : -1
    return nameA < nameB ? -1 : 1
  })

/** Splits an amount in proportion to the weights, into whole micro-USD with the same sum. */
export function inProportion(amount: bigint, weights: readonly bigint[]): bigint[] {
  const whole = weights.reduce((sum, weight) => sum + weight, 0n)
  let weight = 0n
  let given = 0n
  return weights.map(each => {
    weight += each
    const upTo = whole === 0n ? amount : (amount * weight) / whole
    const part = upTo - given
    given = upTo
    return part
  })
}

/** What an account used on a day, per model, product and key. */
interface DailyUse {
  /** The model; the product if there is none. */
  what: string
  model: string | null
  sku: string | null
  api_key: string | null
  kind: EntryTable['kind']
  /** Signed, as the change of the account's USD. */
  effect_usd: bigint
  units: bigint
}

/**
 * Reads one day at a time: the account's activity on that day limits the cost, and other requests are served in
 * between. A row without model and product (staking credit, a refund) belongs to whatever its request was charged for.
 */
async function dailyUse(
  { read }: Pick<Store, 'read'>,
  { account, fromMs, toMs }: { account: string; fromMs: number; toMs: number },
): Promise<DailyUse[]> {
  const what = sql`coalesce(model, sku, (SELECT c.sku FROM entry c WHERE c.ref = 'charge:' || entry.request AND c.line = 0),
    'other')`
  const { rows } = await sql<DailyUse>`SELECT ${what} AS what, model, sku, api_key, kind,
      CAST(sum(effect) AS bigint) AS effect_usd, CAST(sum(coalesce(units, 0)) AS bigint) AS units
    FROM entry WHERE account = ${account} AND kind <> 'TOP_UP' AND kind <> 'GRANT'
      AND created_at_ms >= ${fromMs} AND created_at_ms < ${toMs}
    GROUP BY 1, 2, 3, 4, 5`.execute(read)
  return rows
}

/** The unit of a product, by words in its name; the first match counts. */
const unitWords: readonly [words: RegExp, unit: string][] = [
  [/^(chat|embedding|response)/, 'tokens'],
  [/^image/, 'images'],
  [/second/, 'seconds'],
  [/minute/, 'minutes'],
  [/char/, 'chars'],
]

/** For a model with several products, the first product's unit is used, because most share it. */
const unitTypeOf = ([sku = '']: readonly string[]): string =>
  unitWords.find(([words]) => words.test(sku))?.[1] ?? 'requests'

const typeWords: Readonly<Record<string, string>> = {
  text: 'LLM',
  image: 'IMAGE',
  inpaint: 'IMAGE',
  upscale: 'IMAGE',
  background: 'IMAGE',
  tts: 'TTS',
  asr: 'ASR',
  video: 'VIDEO',
}

/**
 * Returns null if the published contract has no word for the type. The type of a removed model is derived from its
 * products.
 */
export function modelTypeOf(type: Model['type'] | undefined, [sku = '']: readonly string[]): string | null {
  if (type) return typeWords[type] ?? null
  if (sku.startsWith('chat')) return 'LLM'
  if (sku.startsWith('speech')) return 'TTS'
  if (sku.startsWith('transcription')) return 'ASR'
  return /^(image|video)/.exec(sku)?.[0].toUpperCase() ?? null
}

const lineWords: readonly [words: RegExp, type: string][] = [
  [/input\.cache_write/, 'Cache Write'],
  [/input\.cache/, 'Cache Read'],
  [/input/, 'Input'],
  [/output/, 'Output'],
]

const lineType = (sku: string): string => lineWords.find(([words]) => words.test(sku))?.[1] ?? sku

/** Splits what was paid by kind of line, in proportion to the lines' prices, because it was paid for them together. */
export function breakdownOf({ usd, diem, bySku }: ModelTotal) {
  const types = new Map<string, { price: bigint; units: bigint }>()
  for (const [sku, { price, units }] of bySku) {
    const known = types.get(lineType(sku)) ?? { price: 0n, units: 0n }
    types.set(lineType(sku), { price: known.price + price, units: known.units + units })
  }
  const lines = [...types]
  const prices = lines.map(([, { price }]) => price)
  const [usdParts, diemParts] = [inProportion(usd, prices), inProportion(diem, prices)]
  return lines.map(([type, { units }], index) => ({
    type,
    usd: toUsdNumber(usdParts[index] ?? 0n),
    diem: toUsdNumber(diemParts[index] ?? 0n),
    units: Number(units),
  }))
}
