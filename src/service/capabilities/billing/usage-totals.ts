import type { DailyUse } from './daily-use.ts'

/** What was paid for one model or by one key. */
export interface Total {
  usd: bigint
  diem: bigint
  units: bigint
  /** What was paid each day in both, by the first millisecond of the day. */
  byDay: Map<number, bigint>
}

export interface ModelTotal extends Total {
  model: string | null
  /** Prices and units of its lines by their product. */
  bySku: Map<string, { price: bigint; units: bigint }>
}

/** Sums of a time, filled day by day; memory grows with models and keys times days, not with calls. */
export class UsageTotals {
  readonly byDay = new Map<number, { usd: bigint; diem: bigint }>()
  readonly byModel = new Map<string, ModelTotal>()
  /** The empty name is of calls without a key. */
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

/** What staking credit paid left the account's USD as it was. */
const paidOf = ({ kind, effect_usd: effect }: DailyUse) => ({ usd: -effect, diem: kind === 'STAKING' ? effect : 0n })

function addLine({ bySku }: ModelTotal, sku: string, { price, units }: { price: bigint; units: bigint }): void {
  const known = bySku.get(sku) ?? { price: 0n, units: 0n }
  bySku.set(sku, { price: known.price + price, units: known.units + units })
}

/** Dearest first; by name where they are the same, so that an answer does not depend on the order of rows. */
export const dearestFirst = <Row extends Total>(totals: ReadonlyMap<string, Row>): [name: string, total: Row][] =>
  [...totals].sort(([nameA, a], [nameB, b]) => {
    const difference = b.usd + b.diem - (a.usd + a.diem)
    if (difference !== 0n) return difference > 0n ? 1 : -1
    return nameA < nameB ? -1 : 1
  })

/** An amount in the proportion of the weights, whole micro-USD that add up to it. */
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
