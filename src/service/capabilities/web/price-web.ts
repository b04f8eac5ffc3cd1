import { type MicroUsd, microUsd } from '#contract/money.ts'
import { augmentMicroUsd, xSearchMicroUsd, xSearchResults } from '#contract/operations/web.ts'
import type { Line } from '#ledger/store/units.ts'

const picoPerMicro = 1_000_000

/** Searches and pages that succeeded for a caller. */
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

/** The line of a document or a transcript, which cost as much as a page. */
export const webPiecePrice = (sku: string): Line => ({
  sku,
  units: 1n,
  unitPricePicoUsd: BigInt(augmentMicroUsd * picoPerMicro),
  amount: microUsd(augmentMicroUsd),
})

export const webPrice = ({ searches, pages }: WebUse): MicroUsd => microUsd((searches + pages) * augmentMicroUsd)

/** A model's own search, priced by result, up to the results that a chat pays for. */
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
