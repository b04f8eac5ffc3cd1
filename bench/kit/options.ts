import { parseArgs } from 'node:util'

export interface BenchOptions {
  /** A run of a few seconds that only shows that the benchmark works; nothing is stored. */
  isShort: boolean
  /** A packed farebox to measure instead of this one. */
  product: string | undefined
  /** Where CPU profiles of farebox are written. */
  profile: string | undefined
  /** Numbers of entries to measure with. */
  entries: number[] | undefined
  /** Only what takes a minute or two. */
  isWithoutLoad: boolean
}

const usage = `Options of a benchmark:
  --short          run for a few seconds to see that it works, and keep no figures
  --product DIR    measure the package in this folder, instead of building one
  --profile DIR    write CPU profiles of farebox to this folder, and keep no figures (bench:proxy at 32 connections,
                   bench:stream at 100 streams)
  --entries N,N    ledger entries to measure with (bench:growth)
  --no-load        leave out the ten minutes of full load, and keep no figures (bench:endure)`

/** Prints the usage and exits if it is requested, or an option is unknown. */
export function benchOptions(args: readonly string[] = process.argv.slice(2)): BenchOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        short: { type: 'boolean', default: false },
        product: { type: 'string' },
        profile: { type: 'string' },
        entries: { type: 'string' },
        'no-load': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (!values.help) {
      const { short: isShort, product, profile, entries, 'no-load': isWithoutLoad } = values
      return { isShort, product, profile, isWithoutLoad, entries: entries?.split(',').map(wholeNumber) }
    }
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}\n`)
    process.exit(2)
  }
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new Error(
    `\`--entries\` has ${text}; it takes whole numbers above 0, separated by commas, such as 1000,100000.`,
  )
}
