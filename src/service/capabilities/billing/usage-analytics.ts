import { queryTimedOut } from '#contract/errors/errors.ts'
import { toUsdNumber } from '#contract/money.ts'
import type { UsageAnalytics } from '#contract/operations/billing.ts'
import { type Clock, dayMs, minuteMs } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import type { Store } from '#ledger/store/store.ts'
import type { DayRange } from '../../http/service.ts'
import type { Catalogue } from '../../models/catalogue.ts'
import {
  breakdownOf,
  dailyUse,
  dearestFirst,
  modelTypeOf,
  type Total,
  UsageTotals,
  unitTypeOf,
} from './usage-totals.ts'

/** Every limit of what tells an account's use, with its unit. */

/** How long an account gets the same analytics again (published contract §10.3). */
const analyticsFreshMs = 10 * minuteMs

/** Analytics that are kept: each some 100 KB for an account with hundreds of keys. */
const keptAnalytics = 200

/** Days of one look, as published. */
export const analyticsDays = 90

/** How long one may take before its caller is told to ask for less: far below what proxies wait. */
const analyticsMs = 20_000

/** Names of a chart, as published. */
const chartNames = 8

interface Kept {
  untilMs: number
  answer: Promise<UsageAnalytics>
}

interface NamedTotal {
  name: string
  total: Total
}

/** What an account used by day, model and key; looked up once in ten minutes. */
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

  /** Throws 504 where the books take too long. Who asks meanwhile waits for the same look. */
  async of(account: string, days: DayRange): Promise<UsageAnalytics> {
    const name = JSON.stringify([account, days])
    const nowMs = this.#clock.now()
    const known = this.#kept.get(name)
    if (known && nowMs < known.untilMs) return known.answer
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
    return dearestFirst(byModel).map(([what, total]) => {
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
    return dearestFirst(byKey).map(([id, total]) => {
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

/** Names of a chart stand for one thing each; what else tells two apart follows the second. */
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
