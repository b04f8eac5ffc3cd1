/** What a terminal obeys or hides beyond what JSON escapes: control characters and those that turn the direction of text. */
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Amounts are texts of micro-USD, as JSON has no integers of that size. A stranger's text says the same to whoever parses
 * it, and nothing to the terminal that shows it.
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
