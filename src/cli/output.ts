/** The only way of a command to stdout and stderr. */
export interface Output {
  /** A line on stdout: the result. */
  print(line: string): void
  /** A value as one line of JSON on stdout. */
  printJson(value: unknown): void
  /** A line on stderr: everything that is not the result. */
  note(line: string): void
}

export function createOutput(stdout: NodeJS.WritableStream, stderr: NodeJS.WritableStream): Output {
  return {
    print: line => void stdout.write(`${line}\n`),
    printJson: value => void stdout.write(`${JSON.stringify(value)}\n`),
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
