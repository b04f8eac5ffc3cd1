/** What makes a spreadsheet read a text as a formula, its full-width doubles included. */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/

/** A stranger's word in a CSV file (RFC 4180), quoted where it has to be; an apostrophe before it where a spreadsheet would calculate. */
export function csvText(value: string | null): string {
  if (value === null) return ''
  const harmless = formulaStart.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
