import { distinct, type Figure } from './figures.ts'
import { median } from './report.ts'

/** Of the image, in its own units. */
const [width, left, right, barHeight, gap, groupGap, top] = [720, 190, 70, 14, 3, 12, 54] as const

/** Readable on a light and a dark page, and told apart by those who see fewer colours. */
const colours = ['#0072b2', '#56b4e9', '#e69f00', '#999999', '#cc79a7', '#009e73']

/** One metric as horizontal bars, a group a load and a bar a side, with the smallest and largest round as a line. */
export function barPlot(figures: readonly Figure[], metric: string): string {
  const some = figures.filter(each => each.metric === metric)
  const sides = distinct(some.map(({ side }) => side))
  const loads = distinct(some.map(({ load }) => load))
  const largest = Math.max(...some.map(({ rounds }) => median(rounds)), Number.MIN_VALUE)
  // A round far out would make the rest unreadable; its line ends at the edge.
  const scale = (value: number) => Math.min((value / largest) * (width - left - right), width - left)
  const parts: string[] = []
  let y: number = top
  for (const load of loads) {
    const bars = some.filter(each => each.load === load)
    parts.push(label(load, left - 8, y + (bars.length * (barHeight + gap)) / 2, 'end'))
    for (const figure of bars) {
      parts.push(...bar(figure, colours[sides.indexOf(figure.side) % colours.length] ?? '#999999', y, scale))
      y += barHeight + gap
    }
    y += groupGap
  }
  const legend = sides.map((side, index) => legendEntry(side, colours[index % colours.length] ?? '#999999', index))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" font-family="sans-serif" font-size="11" role="img">
<title>${escaped(metric)}</title>
<rect width="${width}" height="${y}" fill="#ffffff"/>
<text x="8" y="18" font-size="13" font-weight="bold" fill="#222222">${escaped(metric)}</text>
${[...legend, ...parts].join('\n')}
</svg>
`
}

function bar({ rounds, digits = 0 }: Figure, colour: string, y: number, scale: (value: number) => number): string[] {
  const middle = median(rounds)
  const [from, to] = [left + scale(Math.min(...rounds)), left + scale(Math.max(...rounds))]
  const line = y + barHeight / 2
  return [
    `<rect x="${left}" y="${y}" width="${fixed(scale(middle))}" height="${barHeight}" fill="${colour}"/>`,
    `<line x1="${fixed(from)}" x2="${fixed(to)}" y1="${line}" y2="${line}" stroke="#222222"/>`,
    label(middle.toFixed(digits), Math.min(Math.max(left + scale(middle), to) + 5, width - 45), line, 'start'),
  ]
}

function legendEntry(side: string, colour: string, index: number): string {
  const x = 8 + (index % 6) * 135
  return `<rect x="${x}" y="28" width="10" height="10" fill="${colour}"/>${label(side, x + 14, 33, 'start')}`
}

const label = (text: string, x: number, y: number, anchor: 'start' | 'end'): string =>
  `<text x="${fixed(x)}" y="${fixed(y + 4)}" text-anchor="${anchor}" fill="#222222">${escaped(text)}</text>`

const fixed = (value: number): string => String(Math.round(value * 10) / 10)

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
