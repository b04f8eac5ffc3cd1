import { priceLines } from '#contract/money.ts'
import type { Line } from '../store/units.ts'

/** Lines that were priced apart as those of one request, which is rounded up once over all of them, as the audit counts it. */
export function oneCharge(lines: readonly Line[]): Line[] {
  const amounts = priceLines(lines)
  return lines.map((line, index) => ({ ...line, amount: amounts[index] ?? line.amount }))
}
