import { once } from 'node:events'
import { styleText } from 'node:util'

/** A command's only way to stdout and stderr. */
export interface Output {
  /** Whether a user sees stdout, rather than a program. */
  readonly isTerminal: boolean
  /** Whether stdout takes colours: a terminal that has them and no NO_COLOR, or anything with FORCE_COLOR. */
  readonly isColoured: boolean
  /** Characters in a line of the terminal. */
  readonly columns: number
  /** Where progress is drawn: stderr if it is a terminal. */
  readonly drawing: NodeJS.WritableStream | null
  /** Prints a line to stdout: the result. */
  print(line: string): void
  /** Prints a value as one line of JSON to stdout, escaped so that it cannot control a terminal. */
  printJson(value: unknown): void
  /** Writes text to stdout unchanged, piece by piece, no faster than its reader reads. */
  stream(pieces: AsyncIterable<string>): Promise<void>
  /** Prints a line to stderr: everything that is not the result. */
  note(line: string): void
}

export function createOutput(stdout: NodeJS.WritableStream, stderr: NodeJS.WritableStream): Output {
  const { isTTY, columns } = stdout as Partial<NodeJS.WriteStream>
  return {
    isTerminal: isTTY === true,
    isColoured: styleText('red', '.', { stream: stdout }) !== '.',
    columns: columns ?? usualColumns,
    drawing: (stderr as Partial<NodeJS.WriteStream>).isTTY === true ? stderr : null,
    print: line => void stdout.write(`${line}\n`),
    printJson: value => void stdout.write(`${asJson(value)}\n`),
    async stream(pieces) {
      for await (const piece of pieces) if (!stdout.write(piece)) await once(stdout, 'drain')
    },
    note: line => void stderr.write(`${line}\n`),
  }
}

/** For a terminal that does not report its width. */
const usualColumns = 80

/** The process's own streams. A reader that has left (`farebox … | head`) is not a failure. */
export function processOutput(): Output {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The second is what Windows reports for a write that had begun.
    if (error.code === 'EPIPE' || error.code === 'EOF') process.exit(0)
    throw error
  })
  return createOutput(process.stdout, process.stderr)
}

/**
 * Amounts are texts of micro-USD, because JSON has no integers of that size. Escapes untrusted text so that programs
 * parse it unchanged while it cannot control a terminal.
 */
export const asJson = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? member.toString() : member)).replace(
    // What a terminal interprets or hides and JSON does not escape: control characters, and those that change the
    // direction of text.
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    escaped,
  )

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => {
    return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
  }).join('')

export type Columns<Shown> = readonly (readonly [name: string, value: (row: Shown) => string | null])[]

/** Yields lines of RFC 4180 in which no untrusted text is a formula. */
export async function* csvTable<Shown>(columns: Columns<Shown>, rows: readonly Shown[]): AsyncGenerator<string> {
  const { csvLine } = await import('#ledger/audit/csv.ts')
  yield csvLine(columns.map(([name]) => name))
  for (const row of rows) yield csvLine(columns.map(([, value]) => value(row)))
}

/** Returns the common name of the chain of an address. */
export const railName = (address: string): 'Base' | 'Solana' => (address.startsWith('0x') ? 'Base' : 'Solana')
