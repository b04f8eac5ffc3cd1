import { once } from 'node:events'

/** The only way of a command to stdout and stderr. */
export interface Output {
  /** Whether stdout is shown to a person rather than read by a program. */
  readonly isTerminal: boolean
  /** A line on stdout: the result. */
  print(line: string): void
  /** A value as one line of JSON on stdout. */
  printJson(value: unknown): void
  /** Text on stdout as it is, piece by piece, no faster than its reader takes it. */
  stream(pieces: AsyncIterable<string>): Promise<void>
  /** A line on stderr: everything that is not the result. */
  note(line: string): void
}

export function createOutput(stdout: NodeJS.WritableStream, stderr: NodeJS.WritableStream): Output {
  return {
    isTerminal: (stdout as Partial<NodeJS.WriteStream>).isTTY === true,
    print: line => void stdout.write(`${line}\n`),
    printJson: value => void stdout.write(`${JSON.stringify(value)}\n`),
    async stream(pieces) {
      for await (const piece of pieces) if (!stdout.write(piece)) await once(stdout, 'drain')
    },
    note: line => void stderr.write(`${line}\n`),
  }
}

/** The process's own streams. A reader that has left (`farebox … | head`) is no failure. */
export function processOutput(): Output {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  return createOutput(process.stdout, process.stderr)
}
