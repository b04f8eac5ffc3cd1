export type Cell = string | bigint | number | boolean | null

/**
 * An array as PostgreSQL reads it; null where no cell says anything, because most columns of most batches do not. The
 * driver would quote and search each cell, numbers too, which took a third of a unit's time in this process.
 */
export function arrayText(cells: readonly Cell[]): string | null {
  if (cells.length > 0 && cells.every(cell => cell === null)) return null
  return `{${cells.map(cellText).join()}}`
}

function cellText(cell: Cell): string {
  if (cell === null) return 'NULL'
  if (typeof cell !== 'string') return `${cell}`
  return /["\\]/.test(cell) ? `"${cell.replaceAll(/["\\]/g, '\\$&')}"` : `"${cell}"`
}
