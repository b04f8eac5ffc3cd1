/** A terminal as an SVG, for the documents. */
export const terminalColumns = 100
const lineHeight = 20
const charWidth = 8.43
const margin = 20
const bar = 34

/** `lines` as the terminal shows them; a command begins with `$ `. */
export function terminalImage(title: string, lines: readonly string[]): string {
  const shown = lines.flatMap(fold)
  const width = Math.ceil(terminalColumns * charWidth + 2 * margin)
  const height = bar + shown.length * lineHeight + margin
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (color, index) => `<circle cx="${margin + index * 20}" cy="${bar / 2}" r="6" fill="${color}"/>`,
  )
  const texts = shown.map(
    (line, index) =>
      `<text x="${margin}" y="${bar + (index + 0.75) * lineHeight}" fill="${colorOf(line)}" xml:space="preserve">${escaped(line)}</text>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
    ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">',
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="10" fill="#15181e"/>`,
    ...dots,
    ...texts,
    '</svg>\n',
  ].join('\n')
}

/**
 * Returns the text of an image, joining the lines that the terminal wrapped; spaces at the ends of these lines are
 * lost.
 */
export const textOfImage = (image: string): string =>
  [...image.matchAll(/<text [^>]*>([^<]*)<\/text>/g)]
    .map(([, line = '']) => line.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'))
    .join('')

/** Wraps a long line between words, indented to its own beginning. */
function fold(line: string): string[] {
  const indent = ' '.repeat(/^\s*/.exec(line)?.[0].length ?? 0)
  const parts = []
  let rest = line
  while (rest.length > terminalColumns) {
    const space = rest.lastIndexOf(' ', terminalColumns)
    const at = space > indent.length ? space : terminalColumns
    parts.push(rest.slice(0, at))
    rest = indent + rest.slice(at).trimStart()
  }
  return [...parts, rest]
}

function colorOf(line: string): string {
  if (/^(✓| *\+)/.test(line)) return '#7ee787'
  return line.startsWith('$') || line.startsWith('ready') ? '#79c0ff' : '#c9d1d9'
}

const escaped = (line: string): string => line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
