/** A larger table is not worth its memory: then all lines between the first and the last change are shown. */
const mostCells = 4_000_000

/**
 * Returns the changed lines of a text prefixed with `-` and `+`, and `context` lines around each change prefixed with a
 * space.
 */
export function changedLines(before: string, after: string, context: number): string[] {
  const [old, fresh] = [linesOf(before), linesOf(after)]
  let head = 0
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < Math.min(old.length, fresh.length) - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++
  const marked = [
    ...old.slice(0, head).map(line => ` ${line}`),
    ...between(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...old.slice(old.length - tail).map(line => ` ${line}`),
  ]
  return withContext(marked, context)
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/))

/** Uses the longest common subsequence, as `diff` does. */
function between(old: readonly string[], fresh: readonly string[]): string[] {
  const width = fresh.length + 1
  if (old.length * width > mostCells) return [...old.map(line => `-${line}`), ...fresh.map(line => `+${line}`)]
  const common = new Uint32Array((old.length + 1) * width)
  const at = (row: number, column: number): number => common[row * width + column] ?? 0
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = fresh.length - 1; column >= 0; column--) {
      common[row * width + column] =
        old[row] === fresh[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const marked: string[] = []
  let [row, column] = [0, 0]
  while (row < old.length || column < fresh.length) {
    if (row < old.length && column < fresh.length && old[row] === fresh[column]) {
      marked.push(` ${old[row]}`)
      row++
      column++
    } else if (row < old.length && (column === fresh.length || at(row + 1, column) >= at(row, column + 1)))
      marked.push(`-${old[row++]}`)
    else marked.push(`+${fresh[column++]}`)
  }
  return marked
}

function withContext(marked: readonly string[], context: number): string[] {
  const isChange = (line: string | undefined) => line !== undefined && !line.startsWith(' ')
  const isShown = marked.map((_, index) =>
    marked.slice(Math.max(0, index - context), index + context + 1).some(isChange),
  )
  return marked.flatMap((line, index) => {
    if (isShown[index]) return [line]
    return isShown[index - 1] ? [' …'] : []
  })
}
