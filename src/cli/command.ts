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
  /** Resolves to the exit code. Failures that a person can mend are thrown as `CliError`. */
  run(args: readonly string[], io: CommandIo): Promise<number>
}

/** One line of the table of commands; the module is read only when its word is typed. */
export interface CommandEntry {
  name: string
  summary: string
  load(): Promise<Command>
}
