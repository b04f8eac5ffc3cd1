import { rails } from './rails.ts'
import { readArguments, type TwinArguments, usage } from './twin-options.ts'
import { runTwins } from './twin-run.ts'
import { heading, line, verdict } from './twin-table.ts'

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
