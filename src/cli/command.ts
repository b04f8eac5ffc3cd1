import { once } from 'node:events'
import { accessSync, constants, lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { nearNames } from '#contract/near-names.ts'
import type { Output } from './output.ts'

/** Everything through which a command reaches the outside; `main` passes it down, so that tests can control it. */
export interface CommandIo {
  output: Output
  env: NodeJS.ProcessEnv
  stdin: NodeJS.ReadStream
  /** How to start farebox again as a child process: the executable, then the arguments before the command word. */
  self: readonly [string, ...string[]]
  /**
   * Aborts at SIGINT or SIGTERM. Once this is called, these signals no longer end the process, except a second one more
   * than a second later.
   */
  untilStopped(): AbortSignal
}

export interface Command {
  /** Printed by `farebox NAME --help`: the usage line, then what each argument does. */
  usage: string
  /** Resolves to the exit code. Failures that the user can fix are thrown as `CliError`. */
  run(args: readonly string[], io: CommandIo): Promise<number>
}

/** One line in the table of commands; the module is loaded only when its word is typed. */
export interface CommandEntry {
  name: string
  summary: string
  load(): Promise<Command>
}

/**
 * A failure for the user at the terminal: what happened, what to do next, and the exit code (1 failed, 2 wrong usage).
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
  /** A client that fills in settings without an answer passes empty values, which count as absent. */
  takesEmpty?: true
  /** The command as typed, for the next step: `farebox up`. */
  command: string
  options: Options
  /** How many words without a flag are accepted; 0 by default. */
  maxPositionals?: number
}

/**
 * Parses flags strictly; a wrong one is a `CliError` with exit code 2 that names it. Flags are kebab-case:
 * `'no-journey'`.
 */
export function parseArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  shape: ArgumentShape<Options>,
): ParsedArguments<Options> {
  const { values, positionals } = parse(args, shape)
  const empty = shape.takesEmpty ? undefined : places.find(flag => Reflect.get(values, flag) === '')
  if (empty !== undefined)
    throw wrongUsage(shape.command, `\`--${empty}\` is empty; name a file, a folder or an address`)
  const extra = positionals[shape.maxPositionals ?? 0]
  if (extra !== undefined) throw wrongUsage(shape.command, unexpected(extra, shape.maxPositionals ?? 0))
  return { values, positionals }
}

/**
 * Flags that name a place. An empty value, such as that of a variable that is not set, would mean the current folder.
 */
const places = ['archive', 'config', 'data', 'facilitator', 'local', 'service'] as const

const unexpected = (word: string, most: number): string => {
  const takes =
    most === 0
      ? 'this command takes only flags'
      : most === 1
        ? 'this command takes one argument'
        : `this command takes at most ${most}`
  return `Unexpected argument \`${shown(word)}\`; ${takes}`
}

/** Returns the value of a flag that must be an integer from `min` to `max`; undefined if the flag is absent. */
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
  throw wrongValue(command, flag, text, `a whole number from ${min} to ${max}`)
}

/** Exit code 2, and where to read the correct usage. */
export const wrongUsage = (command: string, what: string): CliError =>
  new CliError(`${what}.`, `Run \`${command} --help\` for its arguments.`, 2)

/** Runs the part of a command such as `farebox keys` that the first word selects. */
export const byWord =
  (command: string, words: Readonly<Record<string, Command['run']>>): Command['run'] =>
  async ([word = '', ...rest], io) => {
    const run = Object.hasOwn(words, word) ? words[word] : undefined
    if (run) return run(rest, io)
    throw unknownWord(command, word, Object.keys(words))
  }

function unknownWord(command: string, word: string, known: readonly string[]): CliError {
  const named = known.map(each => `\`${each}\``).join(', ')
  if (word === '' || word.startsWith('-')) return wrongUsage(command, `Name a subcommand: ${named}`)
  return wrongUsage(
    command,
    `Unknown subcommand \`${shown(word)}\`. ${didYouMean(word, known)}The subcommands are ${named}`,
  )
}

/** Empty if no name is similar. */
export function didYouMean(word: string, names: readonly string[], before = ''): string {
  const [near] = nearNames(word, names, 1)
  return near === undefined ? '' : `Did you mean \`${before}${near}\`? `
}

/** The length of a mistyped word in an error. */
export const wordCharacters = 40

/** Describes a value that a flag does not take, and the values that it takes. */
export const wrongValue = (command: string, flag: string, text: string, takes: string): CliError =>
  wrongUsage(command, `\`--${flag}\` is \`${shown(text)}\`; use ${takes}`)

const shown = (text: string): string => text.slice(0, wordCharacters)

function parse<Options extends ParseArgsOptionsConfig>(args: readonly string[], shape: ArgumentShape<Options>) {
  try {
    const joined = withNegativeValues(args, shape.options)
    return parseArgs({ args: joined, options: shape.options, strict: true, allowPositionals: true })
  } catch (error) {
    throw wrongUsage(shape.command, explain(error, shape.options))
  }
}

/**
 * `--usd -5` is meant as a value, though an invalid one: joining the two lets the command report what is wrong with it.
 */
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
    const known = Object.keys(options)
    const flags =
      known.length > 0 ? `The flags are ${known.map(name => `--${name}`).join(', ')}` : 'This command has no flags'
    return `Unknown flag \`${flag}\`. ${didYouMean(flag.replace(/^--?/, ''), known, '--')}${flags}`
  }
  if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    return options[flag.replace(/^--/, '')]?.type === 'string'
      ? `\`${flag}\` needs a value, written \`${flag}=VALUE\``
      : `\`${flag}\` takes no value`
  }
  return 'These arguments cannot be parsed'
}

const otherFolder = 'or choose another folder: `--data DIR`, or FAREBOX_DATA for the files of an assistant.'

/** What the user can fix about a folder or disk, by the system error's code, or by what `whyNoFolder` found. */
const sentences: Readonly<Record<string, (path: string) => [sentence: string, nextStep: string]>> = {
  EACCES: path => [`You don’t have permission for ${path}.`, `Give this user read and write access, ${otherFolder}`],
  EPERM: path => [`You don’t have permission for ${path}.`, `Give this user read and write access, ${otherFolder}`],
  EEXIST: path => [`${path} is a file, but must be a folder.`, `Move it away, ${otherFolder}`],
  ENOTDIR: path => [`${fileAbove(path)} is a file, but must be a folder.`, `Move it away, ${otherFolder}`],
  EROFS: path => [`${path} is on a read-only disk.`, `Make it writable, ${otherFolder}`],
  ENOSPC: path => [`The disk of ${path} is full.`, `Free some space, ${otherFolder}`],
  'no new folders': path => [`The system cannot create a folder at ${path}.`, `Check the path, ${otherFolder}`],
}

/** The path's own parent that is a file instead of a folder. */
function fileAbove(path: string): string {
  for (let at = path; dirname(at) !== at; at = dirname(at)) {
    if (statSync(at, { throwIfNoEntry: false })?.isFile()) return at
  }
  return `A parent of ${path}`
}

/**
 * SQLite's primary codes for a damaged file, and for a file that is not a database; the store has them too, but is not
 * loaded here.
 */
const damageCodes: readonly number[] = [11, 26]

const isDamage = (error: Error): boolean => 'errcode' in error && damageCodes.includes(Number(error.errcode) & 0xff)

/** Commands that only read may find damage at any row, and SQLite does not name the file. */
const damagedDatabase = ({ message }: Error): CliError =>
  new CliError(
    `A database in the data folder is damaged (${message}).`,
    'If it is the ledger of a service, stop the service, move `farebox.db` and the files that begin with that name away, then run `farebox restore BACKUP` with your last backup.',
  )

/** SQLite's primary codes for a full disk and for a file that may not be written, as the system's codes. */
const databaseCodes: Readonly<Record<number, string>> = { 8: 'EROFS', 13: 'ENOSPC' }

/** Node reports a folder that cannot be created recursively as missing, whatever the reason is. */
function whyNoFolder(path: string): string {
  for (let at = dirname(path); ; at = dirname(at)) {
    try {
      accessSync(at, constants.W_OK)
      return 'no new folders'
    } catch (error) {
      const { code = 'no new folders' } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' || dirname(at) === at) return code
    }
  }
}

/** Node reports no failure for a folder that is a link to nowhere, such as to a disk that is absent; its files then fail. */
function missingFolderOf({ code, syscall, path }: NodeJS.ErrnoException): string | undefined {
  const folder = code === 'ENOENT' && syscall === 'open' && path !== undefined ? dirname(path) : undefined
  return folder !== undefined && lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() ? folder : undefined
}

/** Explains a file system failure to the user at the terminal; null for any other error. */
export function fileFailure(error: unknown): CliError | null {
  if (!(error instanceof Error)) return null
  if (isDamage(error)) return damagedDatabase(error)
  const { syscall, ...failure } = error as NodeJS.ErrnoException
  if (syscall === 'uv_cwd')
    return new CliError('The current folder no longer exists.', 'Change to another folder, then retry.')
  const path = missingFolderOf(error) ?? failure.path
  const isNoFolder = failure.code === 'ENOENT' && path !== undefined && (syscall === 'mkdir' || path !== failure.path)
  const ofDatabase = 'errcode' in error ? databaseCodes[Number(error.errcode) & 0xff] : undefined
  const code = ofDatabase ?? (isNoFolder ? whyNoFolder(path) : failure.code)
  const words = code === undefined ? undefined : sentences[code]
  // A socket's EACCES and a process's EPERM are different; they name no path.
  if (!words || (path === undefined && code !== 'ENOSPC' && code !== 'EROFS')) return fileFailure(error.cause)
  if (syscall?.startsWith('spawn')) return null
  return new CliError(...words(path ?? 'the data folder'))
}

/** For a command that runs until it is stopped. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Explains why a server could not get its address; other errors are returned unchanged. */
export function listenFailure(
  error: unknown,
  { host, port }: { host: string; port: number },
  setBy?: 'in `listen`' | 'in `admin.listen`',
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
