import { parseArgs } from 'node:util'
import { formatUsd } from '#contract/money.ts'
import { defaultPayments, defaultTwins, findingsPrinted, mostPayments, mostTwins } from './bounds.ts'
import { rails } from './rails.ts'
import { type BehaviourRow, runTwins, type TwinReport } from './twin-run.ts'

const columns = ['requests', 'at once', 'pending', 'cut', 'settle calls', 'transfers', 'credits', 'seconds'] as const
const behaviourWidth = 58

export const heading = `${''.padEnd(behaviourWidth)}${columns.map(column => column.padStart(13)).join('')}`

export function line(row: BehaviourRow): string {
  const { requests, creditedAtOnce, pending, cut, settlements, transfers, credits, ms } = row
  const cells = [requests, creditedAtOnce, pending, cut, settlements, transfers, credits, (ms / 1000).toFixed(1)]
  return `${row.behaviour.padEnd(behaviourWidth)}${cells.map(cell => `${cell}`.padStart(13)).join('')}`
}

export function verdict({ creditsMicroUsd, transfersMicroUsd, findings }: TwinReport): string[] {
  const shown = findings.slice(0, findingsPrinted).map(finding => `✗ ${finding}`)
  const more = findings.length > shown.length ? [`✗ and ${findings.length - shown.length} more`] : []
  const sums = `credited ${formatUsd(creditsMicroUsd)} USD, received ${formatUsd(transfersMicroUsd)} USD`
  return [...shown, ...more, findings.length ? `${sums}, failures ${findings.length}` : sums]
}

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

const print = (text: string) => process.stdout.write(`${text}\n`)
const complain = (text: string) => process.stderr.write(`${text}\n`)

async function main({ payments, twins, rails: names }: TwinArguments): Promise<number> {
  let failures = 0
  for (const name of names) {
    print(`${name}: ${payments} payments, each sent ${twins} times at once, under each behaviour of the facilitator`)
    print(heading)
    const rail = await rails[name]?.()
    if (!rail) continue
    try {
      const report = await runTwins(rail, { payments, twins, onBehaviour: row => print(line(row)) })
      for (const text of verdict(report)) print(text)
      failures += report.findings.length
    } finally {
      await rail.close()
    }
  }
  return failures === 0 ? 0 : 1
}

async function mainOrSay(asked: TwinArguments): Promise<number> {
  try {
    return await main(asked)
  } catch (error) {
    complain(`${error instanceof Error ? error.stack : error}`)
    return 1
  }
}

/** Null where an argument is wrong, which is told with how to write it. */
function read(args: readonly string[]): TwinArguments | null {
  try {
    return readArguments(args)
  } catch (error) {
    complain(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    return null
  }
}

const args = process.argv.slice(2)
const asked = args.includes('--help') ? null : read(args)
if (args.includes('--help')) print(usage)
else process.exitCode = asked ? await mainOrSay(asked) : 2
