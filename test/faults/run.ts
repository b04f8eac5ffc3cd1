import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Campaign } from './campaign.ts'
import { type FaultOptions, readOptions, usage } from './options.ts'
import { table } from './table.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)
const complain = (line: string) => process.stderr.write(`${line}\n`)

async function main(options: FaultOptions): Promise<number> {
  const { kills, seed, quiet } = options
  const folder = resolve(options.folder ?? (await mkdtemp(join(tmpdir(), 'farebox-faults-'))))
  const replay = `npm run faults -- --kills ${kills} --seed ${seed}`
  if (!quiet) print(`seed ${seed}, folder ${folder}`)
  const onKill = (count: number) => {
    if (!quiet && (count % 10 === 0 || count === kills)) print(`${count} kills`)
  }
  const campaign = new Campaign({ kills, seed, folder, waitForLeases: true, ...(quiet ? {} : { onKill }) })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void campaign.end().finally(() => process.exit(1)))
  }
  try {
    const report = await campaign.run()
    const isWell = report.findings.failures.length === 0
    if (!isWell) complain(`The folder is kept in ${folder}. Again with: ${replay}`)
    for (const line of table(report)) print(line)
    if (isWell && options.folder === null) await rm(folder, { recursive: true, force: true })
    return isWell ? 0 : 1
  } catch (error) {
    complain(`${error instanceof Error ? error.stack : error}`)
    complain(`The folder is kept in ${folder}. Again with: ${replay}`)
    return 1
  }
}

try {
  const args = process.argv.slice(2)
  if (args.includes('--help')) print(usage)
  else process.exitCode = await main(readOptions(args))
} catch (error) {
  complain(`${error instanceof Error ? error.message : error}\n\n${usage}`)
  process.exitCode = 2
}
