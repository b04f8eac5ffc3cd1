import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { commands } from './commands.ts'
import { type FaultCommand, type StoreName, storeNames } from './fault-run.ts'
import { mostSteps, usualSteps } from './sim/bounds.ts'

export interface FaultOptions {
  command: FaultCommand
  count: number
  seed: number
  steps: number | null
  store: StoreName
  /** Kept whatever happens where it was named, else only after a failure. */
  folder: string | null
  quiet: boolean
}

const flags = commands.map(({ flag, usual, what }) => `  ${`--${flag} N`.padEnd(16)}${what} (${usual})`)

export const usage = `Usage: npm run faults -- [--${commands.map(({ flag }) => flag).join(' N | --')} N] [--seed S] [--steps K] [--store NAME] [--data DIR] [--quiet]

${flags.join('\n')}

  --seed S        draws the load and the moments; what else happens is up to the machine (drawn anew, and printed)
  --steps K       of each seed of a simulation (${usualSteps})
  --store NAME    ${storeNames.join(' or ')} (${storeNames[0]})
  --data DIR      the data folder, which is kept (a new one, removed where all is well)
  --quiet         only the table`

/** Throws a sentence where an argument is not one of these. */
export function readOptions(args: readonly string[]): FaultOptions {
  const { values } = parseArgs({
    args: withNegativeValues(args),
    options: {
      ...Object.fromEntries(commands.map(({ flag }) => [flag, { type: 'string' } as const])),
      seed: { type: 'string', default: `${randomInt(2 ** 31)}` },
      steps: { type: 'string' },
      store: { type: 'string', default: storeNames[0] },
      data: { type: 'string' },
      quiet: { type: 'boolean', default: false },
    },
  })
  const told = new Map(Object.entries(values))
  const asked = commands.filter(({ flag }) => told.has(flag))
  if (asked.length > 1) throw new Error(`One kind of fault at a time: ${asked.map(({ flag }) => flag).join(' or ')}.`)
  const [command = commands[0]] = asked
  const count = told.get(command.flag) ?? command.usual
  const store = storeNames.find(name => name === values.store)
  if (!store || !command.stores.includes(store)) {
    throw new Error(`--${command.flag} runs on ${command.stores.join(' and ')}, not on ${values.store}.`)
  }
  return {
    command,
    count: wholeNumber(`--${command.flag}`, `${count}`, 1, command.most),
    seed: wholeNumber('--seed', values.seed, 0, 2 ** 32 - 1),
    steps: values.steps === undefined ? null : wholeNumber('--steps', values.steps, 1, mostSteps),
    store,
    folder: values.data ?? null,
    quiet: values.quiet,
  }
}

/** Runs the same again. */
export const replayOf = ({ command, count, seed, steps, store }: FaultOptions): string =>
  `npm run faults -- --${command.flag} ${count} --seed ${seed}${steps === null ? '' : ` --steps ${steps}`}${store === storeNames[0] ? '' : ` --store ${store}`}`

/** `--kills -5` is meant as a value, though a wrong one: joined, so that its own sentence is told. */
function withNegativeValues(args: readonly string[]): string[] {
  const joined: string[] = []
  for (const arg of args) {
    const flag = joined.at(-1) ?? ''
    if (/^-[\d.]/.test(arg) && /^--[a-z-]+$/.test(flag)) joined.splice(-1, 1, `${flag}=${arg}`)
    else joined.push(arg)
  }
  return joined
}

/** Nothing of a kind of fault would be a run that says all is well. */
function wholeNumber(flag: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new Error(`${flag} takes a whole number from ${least} to ${most}.`)
}
