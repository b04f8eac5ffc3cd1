/** Money is an integer number of micro-USD (10⁻⁶ USD, the base unit of USDC), never a float. */
declare const microUsdBrand: unique symbol
export type MicroUsd = bigint & { readonly [microUsdBrand]: true }

const MICRO_PER_USD = 1_000_000n
/** Prices of units are in pico-USD. */
export const picoPerMicro = 1_000_000n
/** A billion USD: a larger amount from a service is a mistake or an attack, and counts as missing. */
const LARGEST_CREDIBLE_USD = 1_000_000_000n

export const microUsd = (amount: bigint | number): MicroUsd => BigInt(amount) as MicroUsd

export const zeroUsd: MicroUsd = microUsd(0)

/** Whether an amount is plausible, debts included. */
export const isCredibleUsd = (amount: bigint): boolean =>
  (amount < 0n ? -amount : amount) <= LARGEST_CREDIBLE_USD * MICRO_PER_USD

/** Restores the brand that arithmetic on bigints loses. */
export const addUsd = (...amounts: readonly bigint[]): MicroUsd =>
  amounts.reduce((sum, amount) => sum + amount, 0n) as MicroUsd

export const leastUsd = (first: bigint, ...others: readonly bigint[]): MicroUsd =>
  others.reduce((least, amount) => (amount < least ? amount : least), first) as MicroUsd

/** Parses `5`, `0.25` or `-1.000001`; null for anything else, including exponents. */
export function parseUsd(text: string): MicroUsd | null {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text)
  if (!match) return null
  const [, sign, whole = '0', fraction = ''] = match
  const magnitude = BigInt(whole) * MICRO_PER_USD + BigInt(fraction.padEnd(6, '0'))
  return microUsd(sign ? -magnitude : magnitude)
}

/** Always six decimals, for programs and columns of numbers: `"4.230000"`, as in `X-Balance-Remaining`. */
export function formatUsd(amount: bigint): string {
  const magnitude = amount < 0n ? -amount : amount
  const fraction = (magnitude % MICRO_PER_USD).toString().padStart(6, '0')
  return `${amount < 0n ? '-' : ''}${magnitude / MICRO_PER_USD}.${fraction}`
}

/** For people, in a sentence: `4.23 USD`, with at least two decimals and no trailing zeros beyond them. */
export function displayUsd(amount: bigint): string {
  return `${formatUsd(amount).replace(/(\.\d\d\d*?)0+$/, '$1')} USD`
}

/** The JSON number of the contract; exact for every amount below 9·10⁹ USD. */
export const toUsdNumber = (amount: bigint): number => Number(amount) / Number(MICRO_PER_USD)

/** Parses a JSON number of USD from a service, rounded to the nearest micro-USD; null if it is not an amount. */
export function fromUsdNumber(amount: number): MicroUsd | null {
  if (!Number.isFinite(amount) || Math.abs(amount) > Number(LARGEST_CREDIBLE_USD)) return null
  return microUsd(Math.round(amount * Number(MICRO_PER_USD)))
}

/** Prices per token are below a micro-USD, so they are kept in pico-USD (10⁻¹² USD). */
export interface PricedUnits {
  units: bigint
  unitPricePicoUsd: bigint
}

/**
 * Prices the lines of one charge and rounds their sum up once: each line gets the increase of the rounded running
 * total. The sum is at least 1 micro-USD if anything in it is billable.
 */
export function priceLines(lines: readonly PricedUnits[]): MicroUsd[] {
  let pico = 0n
  let charged = 0n
  return lines.map(line => {
    pico += line.units * line.unitPricePicoUsd
    const total = (pico + picoPerMicro - 1n) / picoPerMicro
    const amount = total - charged
    charged = total
    return microUsd(amount)
  })
}

/** `0.15` USD per million units as pico-USD per unit: 150,000. Null if it is not a decimal or finer than a pico-USD. */
export function pricePerMillion(usd: string): bigint | null {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(usd)
  if (!match) return null
  return BigInt(match[1] ?? '0') * 1_000_000n + BigInt((match[2] ?? '').padEnd(6, '0'))
}
