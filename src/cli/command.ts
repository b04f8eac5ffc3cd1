import { once } from 'node:events'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import type { Output } from './output.ts'

/** What a command meets of the world; handed down by `main`, so that a test can own it. */
export interface CommandIo {
  output: Output
  env: NodeJS.ProcessEnv
  stdin: NodeJS.ReadStream
  /** How to start farebox again as a child process: program, then the arguments before the command word. */
  self: readonly [string, ...string[]]
  /** Aborts at SIGINT or SIGTERM. From the first call on these no longer end the process; a second one after a second does. */
  untilStopped(): AbortSignal
}

export interface Command {
  /** Printed by `farebox NAME --help`: the line of usage, then what each argument does. */
  usage: string
  /** Resolves to the exit code. Failures that the user can fix are thrown as `CliError`. */
  run(args: readonly string[], io: CommandIo): Promise<number>
}

/** One line of the table of commands; the module is read only when its word is typed. */
export interface CommandEntry {
  name: string
  summary: string
  load(): Promise<Command>
}

/**
 * A failure told to the user at the terminal: what happened, what to do next, and the exit code (1 failed, 2 wrong
 * usage).
 */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly nextStep: string
  readonly exitCode: 1 | 2

  constructor(sentence: string, nextStep: string, exitCode: 1 | 2 = 1) {
    super(sentence)
    this.nextStep = nextStep
    this.exitCode = exitCode
  }
}

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; strict: true; allowPositionals: true }>
>['values']

interface ParsedArguments<Options extends ParseArgsOptionsConfig> {
  values: Values<Options>
  positionals: string[]
}

interface ArgumentShape<Options extends ParseArgsOptionsConfig> {
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
  if (extra !== undefined) throw wrongUsage(shape.command, `\`${extra}\` is an unexpected argument`)
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
  new CliError(`${what}.`, `Run \`${command} --help\` for its arguments.`, 2)

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

const otherFolder = 'or choose another folder: `--data DIR`, or FAREBOX_DATA for the files of an assistant.'

/** What the user can fix about a folder or a disk, by the code of the system's error. */
const sentences: Readonly<Record<string, (path: string) => [sentence: string, nextStep: string]>> = {
  EACCES: path => [`You don’t have permission for ${path}.`, `Give this user read and write access, ${otherFolder}`],
  EPERM: path => [`You don’t have permission for ${path}.`, `Give this user read and write access, ${otherFolder}`],
  EEXIST: path => [`${path} is a file, and a folder is needed there.`, `Move it away, ${otherFolder}`],
  ENOTDIR: path => [`A parent of ${path} is a file, and a folder is needed there.`, `Move it away, ${otherFolder}`],
  EROFS: path => [`${path} is on a read-only disk.`, `Make it writable, ${otherFolder}`],
  ENOSPC: path => [`The disk of ${path} is full.`, `Free some space, ${otherFolder}`],
}

/** SQLite's primary codes of a file that is damaged, and of one that is no database; the store has them too, and is not loaded here. */
const damageCodes: readonly number[] = [11, 26]

const isDamage = (error: Error): boolean => 'errcode' in error && damageCodes.includes(Number(error.errcode) & 0xff)

/** Commands that only read meet damage at any row; SQLite does not name the file. */
const damagedDatabase = ({ message }: Error): CliError =>
  new CliError(
    `A database in the data folder is damaged (${message}).`,
    'If it is the ledger of a service, stop the service, move `farebox.db` and the files that begin with that name away, then run `farebox restore BACKUP` with your last backup.',
  )

/** A failure of the file system as the user at the terminal reads it; null where it is something else. */
export function fileFailure(error: unknown): CliError | null {
  if (!(error instanceof Error)) return null
  if (isDamage(error)) return damagedDatabase(error)
  const { code, path, syscall } = error as NodeJS.ErrnoException
  const words = code === undefined ? undefined : sentences[code]
  // A socket's EACCES and a process's EPERM are other stories; they name no path.
  if (!words || (path === undefined && code !== 'ENOSPC' && code !== 'EROFS')) return fileFailure(error.cause)
  if (syscall?.startsWith('spawn')) return null
  return new CliError(...words(path ?? 'the data folder'))
}

/** For what runs until it is stopped. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** A server that cannot have its address, as the user at the terminal reads it; other errors as they are. */
export function listenFailure(
  error: unknown,
  { host, port }: { host: string; port: number },
  setBy?: 'in `listen`',
): unknown {
  const { code } = error as NodeJS.ErrnoException
  const byPort = setBy ?? 'with `--port`'
  if (code === 'EADDRINUSE')
    return new CliError(`Port ${port} is taken.`, `Choose another port ${byPort}, or stop the program that uses it.`)
  if (code === 'EACCES')
    return new CliError(`This user may not use port ${port}.`, `Choose a port of 1024 or above ${byPort}.`)
  if (code !== 'EADDRNOTAVAIL' && code !== 'ENOTFOUND') return error
  const byHost = setBy ?? 'with `--host`'
  return new CliError(
    `This machine has no address ${host}.`,
    `Choose an address of this machine ${byHost}, such as 127.0.0.1.`,
  )
}
