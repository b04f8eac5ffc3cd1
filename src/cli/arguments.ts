import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { CliError } from './cli-error.ts'

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; strict: true; allowPositionals: true }>
>['values']

export interface ParsedArguments<Options extends ParseArgsOptionsConfig> {
  values: Values<Options>
  positionals: string[]
}

export interface ArgumentShape<Options extends ParseArgsOptionsConfig> {
  /** The command as typed, for the next step: `farebox up`. */
  command: string
  options: Options
  /** How many words without a flag are taken; 0 unless told. */
  maxPositionals?: number
}

/** Reads flags strictly; a wrong one is a `CliError` with exit code 2 that names it. Flags are kebab-case: `'no-journey'`. */
export function parseArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  shape: ArgumentShape<Options>,
): ParsedArguments<Options> {
  const { values, positionals } = parse(args, shape)
  const extra = positionals[shape.maxPositionals ?? 0]
  if (extra !== undefined) throw wrongUsage(shape.command, `\`${extra}\` is one word too many`)
  return { values, positionals }
}

/** The value of a flag that must be a whole number from `min` to `max`; undefined where the flag was not given. */
export function integerFlag(
  command: string,
  flag: string,
  text: string | undefined,
  min: number,
  max: number,
): number | undefined {
  if (text === undefined) return undefined
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw wrongUsage(command, `\`--${flag}\` takes a whole number from ${min} to ${max}`)
}

/** Exit code 2, and where to read what is right. */
export const wrongUsage = (command: string, what: string): CliError =>
  new CliError(`${what}.`, `Run \`${command} --help\` for what it takes.`, 2)

function parse<Options extends ParseArgsOptionsConfig>(args: readonly string[], shape: ArgumentShape<Options>) {
  try {
    const joined = withNegativeValues(args, shape.options)
    return parseArgs({ args: joined, options: shape.options, strict: true, allowPositionals: true })
  } catch (error) {
    throw wrongUsage(shape.command, explain(error, shape.options))
  }
}

/** `--usd -5` is meant as a value, though a wrong one: joined, so that the command can say what is wrong with it. */
function withNegativeValues(args: readonly string[], options: ParseArgsOptionsConfig): string[] {
  const joined: string[] = []
  const end = args.indexOf('--')
  args.forEach((arg, index) => {
    const flag = joined.at(-1) ?? ''
    const isInside = end < 0 || index < end
    const takesValue = flag.startsWith('--') && options[flag.slice(2)]?.type === 'string'
    if (isInside && takesValue && /^-[\d.]/.test(arg)) joined.splice(-1, 1, `${flag}=${arg}`)
    else joined.push(arg)
  })
  return joined
}

function explain(error: unknown, options: ParseArgsOptionsConfig): string {
  const { code, message } = error as NodeJS.ErrnoException
  const flag = /'[^']*?(--?[\w-]+)[^']*'/.exec(message)?.[1] ?? 'a flag'
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const known = Object.keys(options).map(name => `--${name}`)
    return `\`${flag}\` is not known${known.length > 0 ? `; the flags are ${known.join(', ')}` : ''}`
  }
  if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    return options[flag.replace(/^--/, '')]?.type === 'string'
      ? `\`${flag}\` needs a value, written \`${flag}=VALUE\``
      : `\`${flag}\` takes no value`
  }
  return 'these arguments cannot be read'
}
