import { formatUsd, toUsdNumber } from '#contract/money.ts'
import type { UsageRow } from '#contract/operations/billing.ts'
import { csvText } from '#ledger/audit/csv-text.ts'
import type { UsageEntry } from './usage-rows.ts'

const picoPerUsd = 1_000_000_000_000n

/** A row with its amounts as the books have them, for both ways of writing it. */
function factsOf(entry: UsageEntry) {
  const { part, kind, effect, sku, model, units, unit_price_pico_usd: price } = entry
  const amount = part === 1 ? effect : -effect
  const isLine = kind === 'CHARGE' && units !== null && price !== null
  const size = amount < 0n ? -amount : amount
  const name = sku ?? kindNames[kind] ?? kind
  return {
    timestamp: new Date(entry.created_at_ms).toISOString(),
    sku: model === null ? name : `${model}:${name}`,
    units: isLine ? units : 1n,
    pricePicoUsd: isLine ? price : size * 1_000_000n,
    amount,
    currency: part === 1 ? ('DIEM' as const) : ('USD' as const),
    notes: notesOf(entry),
    requestId: entry.request,
    promptTokens: isLine && sku?.startsWith('chat.input') ? units : null,
    completionTokens: isLine && sku?.startsWith('chat.output') ? units : null,
  }
}

/** Rows that are no line of a charge. */
const kindNames: Partial<Record<UsageEntry['kind'], string>> = {
  REFUND: 'refund',
  STAKING: 'staking.credit',
  WRITE_OFF: 'write.off',
}

function notesOf({ kind, effect, part, reason }: UsageEntry): string {
  switch (kind) {
    case 'CHARGE':
      return 'API Inference'
    case 'REFUND':
      return reason ? `Refund: ${reason}` : 'Refund'
    case 'WRITE_OFF':
      return 'Not charged: it cost more than was held'
    default:
      if (part === 1) return effect < 0n ? 'Staking credit given back by a refund' : 'Paid with staking credit'
      return effect < 0n ? 'A refund of what staking credit had paid' : 'Paid with staking credit instead'
  }
}

export function shownUsage(entry: UsageEntry): UsageRow {
  const { units, pricePicoUsd, amount, requestId, promptTokens, completionTokens, ...rest } = factsOf(entry)
  return {
    ...rest,
    units: Number(units),
    pricePerUnitUsd: Number(pricePicoUsd) / Number(picoPerUsd),
    amount: toUsdNumber(amount),
    inferenceDetails: {
      requestId,
      promptTokens: promptTokens === null ? null : Number(promptTokens),
      completionTokens: completionTokens === null ? null : Number(completionTokens),
      inferenceExecutionTime: null,
    },
  }
}

type Facts = ReturnType<typeof factsOf>

/** New columns are added at the end alone, so that readers by place go on. */
const columns: readonly [name: string, value: (facts: Facts) => string][] = [
  ['timestamp', facts => facts.timestamp],
  ['sku', facts => csvText(facts.sku)],
  ['units', facts => `${facts.units}`],
  ['pricePerUnitUsd', facts => decimalUsd(facts.pricePicoUsd)],
  ['amount', facts => formatUsd(facts.amount)],
  ['currency', facts => facts.currency],
  ['notes', facts => csvText(facts.notes)],
  ['requestId', facts => csvText(facts.requestId)],
  ['promptTokens', facts => `${facts.promptTokens ?? ''}`],
  ['completionTokens', facts => `${facts.completionTokens ?? ''}`],
]

const decimalUsd = (pico: bigint): string => `${pico / picoPerUsd}.${(pico % picoPerUsd).toString().padStart(12, '0')}`

/** RFC 4180; amounts are exact decimals. */
export const usageCsv = (entries: readonly UsageEntry[]): string =>
  [columns.map(([name]) => name), ...entries.map(factsOf).map(facts => columns.map(([, value]) => value(facts)))]
    .map(cells => `${cells.join(',')}\r\n`)
    .join('')

/** Whether the caller would rather have CSV: the first of the two that it names; JSON where it names neither. */
export function wantsCsv(accepted: readonly string[]): boolean {
  const types = accepted.flatMap(value => value.split(',')).map(part => part.split(';')[0]?.trim().toLowerCase())
  return types.find(type => type === 'text/csv' || type === 'application/json' || type === '*/*') === 'text/csv'
}
