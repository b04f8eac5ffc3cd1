import { isMoneyColumn } from './tables.ts'

/** A row whose integers are all bigints, with those that are neither money nor priced units as safe numbers. */
export function narrowRow(row: Record<string, unknown>): Record<string, unknown> {
  const narrowed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(row))
    narrowed[name] = typeof value === 'bigint' && !isMoneyColumn(name) ? safeNumber(name, value) : value
  return narrowed
}

function safeNumber(name: string, value: bigint): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new RangeError(`Column ${name} holds ${value}, too large for a number; give it an alias that ends in _usd.`)
}
