const microPerUsd = 1_000_000n

/** A text of micro-USD with all six decimals: `4.230000`. */
export function exactUsd(microUsd: string): string {
  const amount = BigInt(microUsd)
  const magnitude = amount < 0n ? -amount : amount
  const fraction = (magnitude % microPerUsd).toString().padStart(6, '0')
  return `${amount < 0n ? '-' : ''}${magnitude / microPerUsd}.${fraction}`
}

/** Two decimals at least, no trailing zeros beyond them: `4.23 USD`. Nothing is rounded. */
export const usd = (microUsd: string): string => `${exactUsd(microUsd).replace(/(\.\d\d\d*?)0+$/, '$1')} USD`

/** `10,000` */
export const count = (number: number): string => number.toLocaleString('en')

/** Only for the height of a bar, because it may lose precision. */
export const barLength = (microUsd: string): number => Number(BigInt(microUsd))

/** `2026-11-22 21:41 UTC` */
export const utcTime = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** A time in the future, such as `in 9 minutes`. */
export function inTime(atMs: number, nowMs: number): string {
  const minutes = Math.max(0, Math.round((atMs - nowMs) / 60_000))
  if (minutes < 1) return 'in less than a minute'
  if (minutes === 1) return 'in a minute'
  return minutes < 120 ? `in ${minutes} minutes` : `in ${Math.round(minutes / 60)} hours`
}

export function fileSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

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
