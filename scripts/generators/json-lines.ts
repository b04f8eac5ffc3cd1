/** Returns a list for a generated module, one entry a line: quick to load, and a changed entry is one changed line. */
export const jsonLines = (entries: readonly object[]): string =>
  `[\n${entries.map(entry => `  ${JSON.stringify(entry)},\n`).join('')}]`
