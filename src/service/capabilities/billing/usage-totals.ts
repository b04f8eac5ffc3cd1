import { sql } from 'kysely'
import { toUsdNumber } from '#contract/money.ts'
import type { Store } from '#ledger/store/store.ts'
import type { EntryTable } from '#ledger/store/tables.ts'
import type { Model } from '../../models/model.ts'

/** What was paid for one model or by one key. */
export interface Total {
  usd: bigint
  diem: bigint
  units: bigint
  /** What was paid each day in both, by the first millisecond of the day. */
  byDay: Map<number, bigint>
}

interface ModelTotal extends Total {
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

/** What an account used on a day, of one model, product and key. */
interface DailyUse {
  /** The model; the product of what has none. */
  what: string
  model: string | null
  sku: string | null
  api_key: string | null
  kind: EntryTable['kind']
  /** Signed, as the account's USD saw it. */
  effect_usd: bigint
  units: bigint
}

/**
 * One day at a time: what it costs is bounded by what the account did on that day, and others are answered in between. A
 * row without model and product (staking credit, a refund) belongs to what its request was charged for.
 */
export async function dailyUse(
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

/** What a product is counted in, by the words of its name; the first that fits. */
const unitWords: readonly [words: RegExp, unit: string][] = [
  [/^(chat|embedding|response)/, 'tokens'],
  [/^image/, 'images'],
  [/second/, 'seconds'],
  [/minute/, 'minutes'],
  [/char/, 'chars'],
]

/** Of a model with several products, what most of them are counted in is what the first is. */
export const unitTypeOf = ([sku = '']: readonly string[]): string =>
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

/** Null where the published contract has no word for it. A model that is gone is told by what it was charged for. */
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

/** By the kind of line. What was paid is split as the prices of the lines are, because it was paid for them together. */
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
