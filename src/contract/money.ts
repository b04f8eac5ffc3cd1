/** Money is an integer number of micro-USD (10⁻⁶ USD, the base unit of USDC); a float never holds it. */
declare const microUsdBrand: unique symbol
export type MicroUsd = bigint & { readonly [microUsdBrand]: true }

const MICRO_PER_USD = 1_000_000n
const PICO_PER_MICRO = 1_000_000n
/** A thousand million USD: what a service says beyond it is a mistake or a trap, and counts as not said. */
const LARGEST_CREDIBLE_USD = 1_000_000_000n

export const microUsd = (amount: bigint | number): MicroUsd => BigInt(amount) as MicroUsd

export const zeroUsd: MicroUsd = microUsd(0)

/** Whether a service can mean it, debts included. */
export const isCredibleUsd = (amount: bigint): boolean =>
  (amount < 0n ? -amount : amount) <= LARGEST_CREDIBLE_USD * MICRO_PER_USD

/** Brands again what arithmetic on bigints has made plain. */
export const addUsd = (...amounts: readonly bigint[]): MicroUsd =>
  amounts.reduce((sum, amount) => sum + amount, 0n) as MicroUsd

/** Reads `5`, `0.25` or `-1.000001`; anything else, exponents included, is null. */
export function parseUsd(text: string): MicroUsd | null {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text)
  if (!match) return null
  const [, sign, whole = '0', fraction = ''] = match
  const magnitude = BigInt(whole) * MICRO_PER_USD + BigInt(fraction.padEnd(6, '0'))
  return microUsd(sign ? -magnitude : magnitude)
}

/** Always six decimals, as `X-Balance-Remaining` wants it: `"4.230000"`. */
export function formatUsd(amount: bigint): string {
  const magnitude = amount < 0n ? -amount : amount
  const fraction = (magnitude % MICRO_PER_USD).toString().padStart(6, '0')
  return `${amount < 0n ? '-' : ''}${magnitude / MICRO_PER_USD}.${fraction}`
}

/** For people: `4.23 USD`, at least two decimals, no trailing zeros beyond them. */
export function displayUsd(amount: bigint): string {
  return `${formatUsd(amount).replace(/(\.\d\d\d*?)0+$/, '$1')} USD`
}

/** The JSON number of the contract; exact for every amount below 9·10⁹ USD. */
export const toUsdNumber = (amount: bigint): number => Number(amount) / Number(MICRO_PER_USD)

/** Reads a JSON number of USD that a service answered, to the nearest micro-USD; null when it is no amount. */
export function fromUsdNumber(amount: number): MicroUsd | null {
  if (!Number.isFinite(amount) || Math.abs(amount) > Number(LARGEST_CREDIBLE_USD)) return null
  return microUsd(Math.round(amount * Number(MICRO_PER_USD)))
}

/** Prices per token are smaller than a micro-USD, so they are kept in pico-USD (10⁻¹² USD). */
export interface PricedUnits {
  units: bigint
  unitPricePicoUsd: bigint
}

/**
 * Amounts of the lines of one charge, rounded up once over their sum: each line gets what the running total grows by.
 * The sum is at least 1 micro-USD when anything in it is billable.
 */
export function priceLines(lines: readonly PricedUnits[]): MicroUsd[] {
  let pico = 0n
  let charged = 0n
  return lines.map(line => {
    pico += line.units * line.unitPricePicoUsd
    const total = (pico + PICO_PER_MICRO - 1n) / PICO_PER_MICRO
    const amount = total - charged
    charged = total
    return microUsd(amount)
  })
}

/** `0.15` USD a million units as pico-USD a unit: 150,000. Null when it is no decimal or finer than a pico-USD. */
export function pricePerMillion(usd: string): bigint | null {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(usd)
  if (!match) return null
  return BigInt(match[1] ?? '0') * 1_000_000n + BigInt((match[2] ?? '').padEnd(6, '0'))
}
