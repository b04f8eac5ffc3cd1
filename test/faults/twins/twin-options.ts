import { parseArgs } from 'node:util'
import { defaultPayments, defaultTwins, mostPayments, mostTwins } from './bounds.ts'
import { rails } from './rails.ts'

export interface TwinArguments {
  payments: number
  twins: number
  rails: readonly string[]
}

const names = Object.keys(rails)

export const usage = `Usage: npm run faults:twins -- [--payments N] [--twins N] [--rail ${names.join('|')}]

Sends every payment many times at once to the real service on a real local chain, while the facilitator that settles it
fails in seven ways, and checks that what was credited is what the payee has received.

  --payments N  for each way of failing (${defaultPayments})
  --twins N     of each payment (${defaultTwins})
  --rail NAME   ${names.join(' or ')} (all, one after the other)`

/** Throws a sentence where an argument is not one of these. */
export function readArguments(args: readonly string[]): TwinArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      payments: { type: 'string', default: `${defaultPayments}` },
      twins: { type: 'string', default: `${defaultTwins}` },
      rail: { type: 'string' },
    },
  })
  const { rail } = values
  if (rail !== undefined && !names.includes(rail)) throw new Error(`--rail takes ${names.join(' or ')}.`)
  return {
    payments: wholeNumber('--payments', values.payments, mostPayments),
    twins: wholeNumber('--twins', values.twins, mostTwins),
    rails: rail === undefined ? names : [rail],
  }
}

function wholeNumber(flag: string, text: string, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value > 0 && value <= most) return value
  throw new Error(`${flag} takes a whole number from 1 to ${most}.`)
}
