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

/** What a terminal obeys or hides beyond what JSON escapes: control characters and those that turn the direction of text. */
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Amounts are texts of micro-USD, as JSON has no integers of that size. A stranger's text says the same to any program
 * that parses it, and nothing to the terminal that shows it.
 */
export const asJson = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? member.toString() : member)).replace(
    obeyed,
    escaped,
  )

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => {
    return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
  }).join('')

export type Columns<Shown> = readonly (readonly [name: string, value: (row: Shown) => string | null])[]

/** Lines of RFC 4180 in which no word of a service is a formula. */
export async function* csvTable<Shown>(columns: Columns<Shown>, rows: readonly Shown[]): AsyncGenerator<string> {
  const { csvText } = await import('#ledger/audit/csv.ts')
  yield `${columns.map(([name]) => name).join(',')}\r\n`
  for (const row of rows) yield `${columns.map(([, value]) => csvText(value(row))).join(',')}\r\n`
}

/** What people call the chain that an address is on. */
export const railName = (address: string): 'Base' | 'Solana' => (address.startsWith('0x') ? 'Base' : 'Solana')
