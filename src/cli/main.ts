import { version } from '#contract/version.generated.ts'
import { wrongUsage } from './arguments.ts'
import { CliError } from './cli-error.ts'
import type { Command, CommandEntry, CommandIo } from './command.ts'
import { commands } from './commands.ts'
import { fileFailure } from './file-failure.ts'
import { processOutput } from './output.ts'
import { stopSignal } from './stop-signal.ts'

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
  if (word === '--version' || word === '-V') {
    io.output.print(version)
    return 0
  }
  if (word === undefined || word === '--help' || word === '-h' || word === 'help') {
    io.output.print(overview(table))
    return word === undefined ? 2 : 0
  }
  const entry = table.find(candidate => candidate.name === word)
  if (!entry) throw wrongUsage('farebox', `There is no command \`${word}\``)
  const command: Command = await entry.load()
  if (asksForHelp(rest)) {
    io.output.print(`${entry.summary}\n\n${command.usage.trim()}`)
    return 0
  }
  return command.run(rest, io)
}

/** What stands after `--` belongs to the command. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h')
}

function overview(table: readonly CommandEntry[]): string {
  const width = Math.max(0, ...table.map(entry => entry.name.length))
  const lines = table.map(entry => `  ${entry.name.padEnd(width)}  ${entry.summary}`)
  return ['Usage: farebox COMMAND [ARGUMENTS]', '', ...lines, '', 'farebox COMMAND --help tells more; --version.'].join(
    '\n',
  )
}

/** With the commands of its sentences as they are typed here. */
async function asTyped(error: unknown): Promise<unknown> {
  if (!(error instanceof CliError)) return error
  const words = await import('#agent/words/as-typed.ts')
  return new CliError(words.asTyped(error.message), words.asTyped(error.nextStep), error.exitCode)
}

function tell(error: unknown, io: CommandIo): number {
  const foreseen = error instanceof CliError ? error : fileFailure(error)
  if (foreseen) {
    io.output.note(`${foreseen.message} ${foreseen.nextStep}`)
    return foreseen.exitCode
  }
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1)
  io.output.note(`farebox stopped on an unforeseen error: ${reason.replace(/\.$/, '')}. FAREBOX_DEBUG=1 shows where.`)
  if (io.env.FAREBOX_DEBUG === '1' && error instanceof Error) io.output.note(error.stack ?? '')
  return 1
}

function processIo(): CommandIo {
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
  // What nobody awaits ends the process as before, in a sentence instead of a line of the bundle.
  process.once('uncaughtException', error => process.exit(tell(error, io)))
  return io
}
