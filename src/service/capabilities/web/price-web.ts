import { type MicroUsd, microUsd } from '#contract/money.ts'
import { augmentMicroUsd, xSearchMicroUsd, xSearchResults } from '#contract/operations/web.ts'
import type { Line } from '#ledger/store/units.ts'

const picoPerMicro = 1_000_000

/** What is looked at on the web for a caller: the searches and pages that succeeded. */
export interface WebUse {
  searches: number
  pages: number
}

/** A line for each kind that was used; published contract §15. */
export const webLines = ({ searches, pages }: WebUse): Line[] =>
  [
    { sku: 'web.search', count: searches },
    { sku: 'web.scrape', count: pages },
  ]
    .filter(({ count }) => count > 0)
    .map(({ sku, count }) => ({
      sku,
      units: BigInt(count),
      unitPricePicoUsd: BigInt(augmentMicroUsd * picoPerMicro),
      amount: microUsd(count * augmentMicroUsd),
    }))

/** The line of one thing at the same price: a document, a transcript. */
export const webPiecePrice = (sku: string): Line => ({
  sku,
  units: 1n,
  unitPricePicoUsd: BigInt(augmentMicroUsd * picoPerMicro),
  amount: microUsd(augmentMicroUsd),
})

export const webPrice = ({ searches, pages }: WebUse): MicroUsd => microUsd((searches + pages) * augmentMicroUsd)

/** A model's own search, by the result, as far as a chat pays for one. */
export function xSearchLines(results: number): Line[] {
  const count = Math.min(results, xSearchResults)
  if (count === 0) return []
  return [
    {
      sku: 'x.search',
      units: BigInt(count),
      unitPricePicoUsd: BigInt(xSearchMicroUsd * picoPerMicro),
      amount: microUsd(count * xSearchMicroUsd),
    },
  ]
}

export const mostOfXSearch: MicroUsd = microUsd(xSearchResults * xSearchMicroUsd)
