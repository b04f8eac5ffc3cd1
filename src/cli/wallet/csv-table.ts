export type Columns<Shown> = readonly (readonly [name: string, value: (row: Shown) => string | null])[]

/** Lines of RFC 4180 in which no word of a service is a formula. */
export async function* csvTable<Shown>(columns: Columns<Shown>, rows: readonly Shown[]): AsyncGenerator<string> {
  const { csvText } = await import('#ledger/audit/csv-text.ts')
  yield `${columns.map(([name]) => name).join(',')}\r\n`
  for (const row of rows) yield `${columns.map(([, value]) => csvText(value(row))).join(',')}\r\n`
}
