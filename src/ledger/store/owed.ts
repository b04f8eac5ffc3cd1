import { microUsd } from '#contract/money.ts'
import type { Line, Owed } from './units.ts'

/** What a hold's row keeps of work that is still running. Amounts are decimal text, because JSON has no large integers. */
export const storeOwed = ({ request, model, lines }: Owed): string =>
  JSON.stringify([
    request,
    model,
    lines.map(({ sku, units, unitPricePicoUsd, amount }) => [sku, `${units}`, `${unitPricePicoUsd}`, `${amount}`]),
  ])

type StoredOwed = [request: string, model: string | null, lines: [string, string, string, string][]]

export function readOwed(text: string): Owed {
  const [request, model, lines] = JSON.parse(text) as StoredOwed
  return { request, model, lines: lines.map(readLine) }
}

const readLine = ([sku, units, price, amount]: [string, string, string, string]): Line => ({
  sku,
  units: BigInt(units),
  unitPricePicoUsd: BigInt(price),
  amount: microUsd(BigInt(amount)),
})
