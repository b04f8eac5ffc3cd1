import { campaign } from './campaign.ts'
import { heading, line, summary, verdict } from './verdict.ts'

const usage = `Usage: npm run redteam -- [--silence] [--rows wrong]

Attacks the wallet with the 48 public scenarios of x402-redteam, with the same at the top-up that it does pay, with
hostile facilitators and with what papers add, on loopback alone. Ends with 1 at a wrong payment or a control that
was not paid.

  --silence     also a service that never answers a payment: the wallet gives up after two minutes
  --rows wrong  prints the rows that failed alone`

const known = new Set(['--silence', '--rows', 'wrong', '--help'])
const args = process.argv.slice(2)
const print = (text: string) => process.stdout.write(`${text}\n`)

async function main(): Promise<number> {
  const isQuiet = args.includes('--rows')
  if (!isQuiet) print(heading)
  const rows = await campaign({ hasSilence: args.includes('--silence') })
  for (const row of rows) if (!isQuiet || row.outcome === 'WRONG' || row.outcome === 'FAILED') print(line(row))
  print('')
  for (const text of summary(rows)) print(text)
  return verdict(rows).isClean ? 0 : 1
}

if (args.includes('--help')) print(usage)
else if (args.some(arg => !known.has(arg))) {
  process.stderr.write(`${usage}\n`)
  process.exitCode = 2
} else process.exitCode = await main()
