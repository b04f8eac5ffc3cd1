import { displayUsd, fromUsdNumber, toUsdNumber } from '#contract/money.ts'

/** Amounts and times in the output of tools. No schema is loaded with them: a failure is told before any tool is. */

export const usd = (amount: bigint | null): number | null => (amount === null ? null : toUsdNumber(amount))

export const isoTime = (unixMs: number): string => new Date(unixMs).toISOString()

/** `4.23 USD`, or `an unknown amount`. */
export function sayUsd(amount: number | null): string {
  const exact = amount === null ? null : fromUsdNumber(amount)
  return exact === null ? 'an unknown amount' : displayUsd(exact)
}
