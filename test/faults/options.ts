import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { defaultKills, mostKills } from './bounds.ts'

export interface FaultOptions {
  kills: number
  seed: number
  /** Kept whatever happens where it was named, else only after a failure. */
  folder: string | null
  quiet: boolean
}

export const usage = `Usage: npm run faults -- [--kills N] [--seed S] [--data DIR] [--quiet]

Kills a real server with SIGKILL under load, again and again, and checks that whatever it acknowledged stands.

  --kills N   how often (${defaultKills})
  --seed S    draws the load and the moments of the kills; their order is up to the machine (drawn anew, and printed)
  --data DIR  the data folder, which is kept (a new one, removed where all is well)
  --quiet     only the table`

/** Throws a sentence where an argument is not one of these. */
export function readOptions(args: readonly string[]): FaultOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: `${defaultKills}` },
      seed: { type: 'string', default: `${randomInt(2 ** 31)}` },
      data: { type: 'string' },
      quiet: { type: 'boolean', default: false },
    },
  })
  return {
    kills: wholeNumber('--kills', values.kills, mostKills),
    seed: wholeNumber('--seed', values.seed, 2 ** 32 - 1),
    folder: values.data ?? null,
    quiet: values.quiet,
  }
}

function wholeNumber(flag: string, text: string, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value <= most) return value
  throw new Error(`${flag} takes a whole number from 0 to ${most}.`)
}
