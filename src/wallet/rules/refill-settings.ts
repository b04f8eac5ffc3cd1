import { displayUsd, type MicroUsd, parseUsd } from '#contract/money.ts'
import { smallestTopUpMicroUsd } from '#contract/wire/networks.ts'

/** Credit that is bought ahead of need. */
export interface Refill {
  belowMicroUsd: MicroUsd
  byMicroUsd: MicroUsd
}

/** USD as decimal texts. */
export interface RefillTexts {
  below: string | undefined
  by: string | undefined
  maxPayment: string
}

type Names = Readonly<Record<keyof RefillTexts, string>>

export const refillVariables: Names = {
  below: 'FAREBOX_REFILL_BELOW_USD',
  by: 'FAREBOX_REFILL_BY_USD',
  maxPayment: 'FAREBOX_MAX_PAYMENT_USD',
}

/** What is wrong with the two settings together, by the names under which they were given; null where nothing is. */
export function refillProblem(
  { below, by, maxPayment }: RefillTexts,
  names: Names,
): [what: string, step: string] | null {
  if ((below === undefined) !== (by === undefined))
    return [
      `${names.below} and ${names.by} go together, and only one of them is set`,
      'Set both for credit that is refilled ahead of need, or neither.',
    ]
  // A text that is no amount is told by itself.
  const [amount, most] = [parseUsd(by ?? ''), parseUsd(maxPayment)]
  if (amount !== null && amount < smallestTopUpMicroUsd)
    return [`${names.by} is less than services take`, `Refill by ${displayUsd(smallestTopUpMicroUsd)} at least.`]
  if (amount !== null && most !== null && amount > most)
    return [
      `${names.by} is more than ${names.maxPayment} allows, which is ${displayUsd(most)}`,
      'Refill by less, or raise that cap.',
    ]
  return null
}
