import { displayUsd, fromUsdNumber, toUsdNumber } from '#contract/money.ts'

/** Amounts and times in tools' output. Loads no schema, because a failure may be reported before any tool is loaded. */

export const usd = (amount: bigint | null): number | null => (amount === null ? null : toUsdNumber(amount))

export const isoTime = (unixMs: number): string => new Date(unixMs).toISOString()

/** Formats the remaining credit and the amount that the wallet may still pay today; empty if both are unknown. */
export function sayLeft(creditUsd: number | null, budgetUsd: number | null): string {
  return [
    ...(creditUsd === null ? [] : [`Credit left: ${sayUsd(creditUsd)}.`]),
    ...(budgetUsd === null ? [] : [`The wallet may still pay ${sayUsd(budgetUsd)} today.`]),
  ].join(' ')
}

/** `4.23 USD`, or `an unknown amount`. */
export function sayUsd(amount: number | null): string {
  const exact = amount === null ? null : fromUsdNumber(amount)
  return exact === null ? 'an unknown amount' : displayUsd(exact)
}
