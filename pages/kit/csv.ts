/** Characters that make a spreadsheet treat a text as a formula, including their full-width forms. */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/
/** The same within a text, after a character at which a spreadsheet with other separators begins a new cell. */
const formulaInside = /([;\t\r\n]"*)(?=[=+\-@＝＋－＠])/g
const amount = /^-?\d+\.\d{6}$/

/** Formats a field of a CSV file (RFC 4180), with an apostrophe in front if a spreadsheet would calculate it. */
function field(value: string): string {
  const isFormula = formulaStart.test(value) && !amount.test(value)
  const harmless = (isFormula ? `'${value}` : value).replaceAll(formulaInside, "$1'")
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

export const csvText = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, ...rows].map(row => `${row.map(field).join(',')}\r\n`).join('')

/** Saves a text as a download, without asking the server. */
export const saveFile = (name: string, text: string, type = 'text/csv'): void =>
  saveBlob(name, new Blob([text], { type }))

export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // By then the browser has started the download.
  setTimeout(() => URL.revokeObjectURL(url), 1_000)
}
