import { version } from '#contract/version.generated.ts'
import {
  CliError,
  type Command,
  type CommandEntry,
  type CommandIo,
  didYouMean,
  fileFailure,
  wordCharacters,
} from './command.ts'
import { commands } from './commands.ts'
import { type Output, processOutput } from './output.ts'

/** Runs one command of the table. Resolves to the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function main(
  args: readonly string[],
  io: CommandIo = processIo(),
  table: readonly CommandEntry[] = commands,
): Promise<number> {
  try {
    return await dispatch(args, io, table)
  } catch (error) {
    return tell(await asTyped(error), io)
  }
}

async function dispatch([word, ...rest]: readonly string[], io: CommandIo, table: readonly CommandEntry[]) {
  if (word === '--version' || word === '-V' || word === '-v') {
    io.output.print(version)
    return 0
  }
  if (word === 'help' && rest[0] !== undefined) return dispatch([...rest, '--help'], io, table)
  if (word === undefined || word === '--help' || word === '-h' || word === 'help') {
    io.output.print(await overview(table, io.output))
    return word === undefined ? 2 : 0
  }
  const entry = table.find(candidate => candidate.name === word)
  if (!entry) throw unknownCommand(word, table)
  const command: Command = await entry.load()
  if (asksForHelp(rest)) {
    const { helpText } = await import('./show/help.ts')
    io.output.print(helpText({ ...entry, usage: command.usage }, rest[0], io.output))
    return 0
  }
  return command.run(rest, io)
}

/** Suggests the command that the user probably meant. */
function unknownCommand(word: string, table: readonly CommandEntry[]): CliError {
  const sentence = `There is no command \`${word.slice(0, wordCharacters)}\`.`
  const meant = didYouMean(
    word,
    table.map(({ name }) => name),
  )
  return new CliError(sentence, `${meant}Run \`farebox --help\` for the commands.`, 2)
}

/** Arguments after `--` belong to the command. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h')
}

/** The drawing code is loaded here, because `mcp` does not need it. */
async function overview(table: readonly CommandEntry[], output: Output): Promise<string> {
  const [{ paintFor }, { tableLines }] = await Promise.all([import('./show/style.ts'), import('./show/table.ts')])
  const paint = paintFor(output)
  const rows = table.map(({ name, summary }) => [paint('accent', name), summary])
  return [
    'Usage: farebox COMMAND [ARGUMENTS]',
    '',
    ...tableLines({ rows, indent: 2, isAligned: true }, output),
    '',
    'Run `farebox help COMMAND` for details, or `farebox --version`.',
  ].join('\n')
}

/** Replaces the commands in its sentences with what the user must type here. */
async function asTyped(error: unknown): Promise<unknown> {
  if (!(error instanceof CliError)) return error
  const words = await import('#agent/words/typed-commands.ts')
  return new CliError(words.asTyped(error.message), words.asTyped(error.nextStep), error.exitCode)
}

function tell(error: unknown, io: CommandIo): number {
  const foreseen = error instanceof CliError ? error : fileFailure(error)
  if (foreseen) {
    io.output.note(`${foreseen.message} ${foreseen.nextStep}`)
    return foreseen.exitCode
  }
  // Its message says what to install. Recognized by its name, so that no command loads its file for this.
  if (error instanceof Error && error.name === 'PackageMissing') {
    io.output.note(error.message)
    return 1
  }
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1)
  io.output.note(
    `farebox stopped because of an unexpected error: ${reason.replace(/\.$/, '')}. Set FAREBOX_DEBUG=1 to see where.`,
  )
  if (io.env.FAREBOX_DEBUG === '1' && error instanceof Error) io.output.note(error.stack ?? '')
  return 1
}

/** Addresses of this machine, as `NO_PROXY` lists them. */
const ownHosts = ['localhost', '127.0.0.1', '[::1]']

/**
 * Keeps requests to this machine, such as to a running service or a local chain, away from a proxy of the environment.
 * Node reads `NO_PROXY` for each request.
 */
function reachThisMachineDirectly(environment: NodeJS.ProcessEnv): void {
  const name = environment.no_proxy === undefined ? 'NO_PROXY' : 'no_proxy'
  const named = environment[name] ?? ''
  // A star, which excludes every host, counts only alone.
  if (named !== '*') environment[name] = [named, ...ownHosts].filter(Boolean).join(',')
}

function processIo(): CommandIo {
  reachThisMachineDirectly(process.env)
  let signal: AbortSignal | undefined
  const io: CommandIo = {
    output: processOutput(),
    env: process.env,
    stdin: process.stdin,
    self: [process.execPath, process.argv[1] ?? ''],
    untilStopped() {
      signal ??= stopSignal({ endsWithParent: process.env.npm_lifecycle_event !== undefined })
      return signal
    },
  }
  // An unhandled error ends the process as usual, but with a sentence instead of a line of the bundle.
  process.once('uncaughtException', error => process.exit(tell(error, io)))
  return io
}

/**
 * A second signal within this time comes from the same key press, which the terminal sends to the whole process group
 * and a launcher passes on.
 */
const SAME_PRESS_MS = 1_000

/** How often an orphan checks for its parent; a cheap system call. */
const PARENT_EVERY_MS = 500

/**
 * Aborts at the first SIGINT or SIGTERM and leaves stopping to the command; a later signal ends the process at once.
 * `endsWithParent` treats the parent's end as a signal, because npm puts a shell in between that dies of a signal
 * without passing it on.
 */
export function stopSignal({ endsWithParent = false } = {}): AbortSignal {
  const controller = new AbortController()
  let firstAtMs: number | undefined
  const stop = (signal: NodeJS.Signals) => {
    const nowMs = performance.now()
    firstAtMs ??= nowMs
    if (!controller.signal.aborted) return controller.abort(signal)
    if (nowMs - firstAtMs > SAME_PRESS_MS) process.exit(1)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  // Ctrl-Break, and a console that closes: Windows ends the process ten seconds later.
  if (process.platform === 'win32') for (const signal of ['SIGBREAK', 'SIGHUP'] as const) process.on(signal, stop)
  if (endsWithParent) whenParentEnds(() => controller.abort('SIGTERM'))
  return controller.signal
}

function whenParentEnds(stop: () => void): void {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, PARENT_EVERY_MS)
  watch.unref()
}
