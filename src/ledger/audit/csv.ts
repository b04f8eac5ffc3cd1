import { formatUsd } from '#contract/money.ts'
import { exportChunkCharacters } from '../bounds.ts'
import type { AuditReader } from './audit-reader.ts'

export interface ExportFilter {
  account?: string
  /** Unix milliseconds; `fromMs` is included and `toMs` is not. */
  fromMs?: number
  toMs?: number
}

interface EntryRow {
  seq: bigint
  id: string
  kind: string
  account: string
  debit: string
  credit: string
  amount: bigint
  posted_after: bigint
  ref: string
  line: bigint
  request: string | null
  model: string | null
  sku: string | null
  units: bigint | null
  price: bigint | null
  api_key: string | null
  budget_period: string | null
  budget_start_ms: bigint | null
  staking_day_ms: bigint | null
  reason: string | null
  created_at_ms: bigint
}

/** Each column's name and content. New columns are only added at the end, so that readers by position keep working. */
const columns: readonly [name: string, value: (row: EntryRow) => string][] = [
  ['number', row => `${row.seq}`],
  ['time', row => new Date(Number(row.created_at_ms)).toISOString()],
  ['account', row => csvText(row.account)],
  ['kind', row => csvText(row.kind)],
  ['amount_usd', row => formatUsd(row.credit === row.account ? row.amount : -row.amount)],
  ['balance_after_usd', row => formatUsd(row.posted_after)],
  ['debit', row => csvText(row.debit)],
  ['credit', row => csvText(row.credit)],
  ['ref', row => csvText(row.ref)],
  ['line', row => `${row.line}`],
  ['request', row => csvText(row.request)],
  ['model', row => csvText(row.model)],
  ['sku', row => csvText(row.sku)],
  ['units', row => (row.units === null ? '' : `${row.units}`)],
  ['unit_price_usd', row => (row.price === null ? '' : decimalUsd(row.price))],
  ['api_key', row => csvText(row.api_key)],
  ['reason', row => csvText(row.reason)],
  ['id', row => csvText(row.id)],
  ['budget_period', row => csvText(row.budget_period)],
  ['budget_start', row => isoTime(row.budget_start_ms)],
  ['staking_day', row => isoTime(row.staking_day_ms)],
]

const isoTime = (atMs: bigint | null): string => (atMs === null ? '' : new Date(Number(atMs)).toISOString())

/**
 * Yields the entries of one snapshot as CSV (RFC 4180: commas, CRLF, doubled quotes), in order, in pieces of whole
 * lines. Amounts are decimal USD with six places, prices with twelve, exactly as in the ledger. Memory does not grow
 * with the ledger.
 */
export async function* exportCsv(reader: AuditReader, filter: ExportFilter = {}): AsyncGenerator<string> {
  let chunk = `${columns.map(([name]) => name).join(',')}\r\n`
  const { where, parameters } = conditions(filter)
  const rows = reader.rows<EntryRow>(
    `SELECT seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
      unit_price_pico_usd AS price, api_key, budget_period, budget_start_ms, staking_day_ms, reason, created_at_ms FROM entry ${where} ORDER BY seq`,
    ...parameters,
  )
  for await (const row of rows) {
    chunk += `${columns.map(([, value]) => value(row)).join(',')}\r\n`
    if (chunk.length < exportChunkCharacters) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

function conditions({ account, fromMs, toMs }: ExportFilter) {
  const terms: [string, string | bigint][] = []
  if (account !== undefined) terms.push(['account = ?', account])
  if (fromMs !== undefined) terms.push(['created_at_ms >= ?', BigInt(fromMs)])
  if (toMs !== undefined) terms.push(['created_at_ms < ?', BigInt(toMs)])
  const where = terms.length > 0 ? `WHERE ${terms.map(([term]) => term).join(' AND ')}` : ''
  return { where, parameters: terms.map(([, value]) => value) }
}

export const picoPerUsd = 1_000_000_000_000n

/** A price in pico-USD as a decimal number of USD. */
export const decimalUsd = (price: bigint): string =>
  `${price / picoPerUsd}.${(price % picoPerUsd).toString().padStart(12, '0')}`

/** Characters that make a spreadsheet read text as a formula, including their full-width forms. */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/
/** The same within a text, after a character at which a spreadsheet with other separators begins a new cell. */
const formulaInside = /([;\t\r\n]"*)(?=[=+\-@＝＋－＠])/g

/**
 * Formats untrusted text for CSV (RFC 4180), quoted if needed; with an apostrophe in front of everything that a
 * spreadsheet would evaluate.
 */
export function csvText(value: string | null): string {
  if (value === null) return ''
  const harmless = (formulaStart.test(value) ? `'${value}` : value).replaceAll(formulaInside, "$1'")
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** A complete line. A negative amount begins with a minus, which is not a formula. */
export const csvLine = (values: readonly (string | number | null)[]): string => `${values.map(csvCell).join(',')}\r\n`

const csvCell = (value: string | number | null): string =>
  value === null ? '' : /^-?\d+(\.\d+)?$/.test(`${value}`) ? `${value}` : csvText(`${value}`)
