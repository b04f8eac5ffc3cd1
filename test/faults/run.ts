import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { inspect } from 'node:util'
import { type FaultOptions, readOptions, replayOf, usage } from './options.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)
const complain = (line: string) => process.stderr.write(`${line}\n`)

async function main(options: FaultOptions): Promise<number> {
  const { command, count, seed, steps, store, quiet } = options
  const folder = resolve(options.folder ?? (await mkdtemp(join(tmpdir(), 'farebox-faults-'))))
  const say = (line: string) => {
    if (!quiet) print(line)
  }
  say(`seed ${seed}, folder ${folder}`)
  const ends: (() => Promise<void>)[] = []
  const onStop = (end: () => Promise<void>) => void ends.push(end)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void Promise.allSettled(ends.map(end => end())).then(() => process.exit(1)))
  }
  const kept = `The folder is kept in ${folder}. Again with: ${replayOf(options)}`
  try {
    const run = await command.load()
    const { isWell, lines } = await run({ count, seed, steps, store, folder, say, onStop })
    for (const line of lines) print(line)
    if (!isWell) complain(kept)
    if (isWell && options.folder === null) await rm(folder, { recursive: true, force: true })
    return isWell ? 0 : 1
  } catch (error) {
    complain(inspect(error))
    complain(kept)
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
