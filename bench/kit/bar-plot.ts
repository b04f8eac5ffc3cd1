import { distinct, type Figure, median } from './figures.ts'

/** Dimensions of the image, in its own units. `right` is the room for a figure beside the longest bar. */
const [width, right, barHeight, gap, groupGap] = [720, 60, 14, 3, 12] as const
const [margin, titleY, legendY, legendLine, swatch] = [8, 18, 33, 18, 14] as const

/** Width of a character at 11 units, in the widest of the usual sans-serif fonts. */
const charWidth = 6.8

/** A round this many times the largest median would make the other bars unreadable, so its line ends at the edge. */
const outlier = 1.5

/** Readable on light and dark pages, and distinguishable with colour blindness. */
const colours = ['#0072b2', '#56b4e9', '#e69f00', '#999999', '#cc79a7', '#009e73']
const colourOf = (index: number): string => colours[index % colours.length] ?? '#999999'

/**
 * Plots one metric as horizontal bars: a group per load and a bar per side, with a line from the smallest to the
 * largest round.
 */
export function barPlot(figures: readonly Figure[], metric: string): string {
  const some = figures.filter(each => each.metric === metric)
  const sides = distinct(some.map(({ side }) => side))
  const loads = distinct(some.map(({ load }) => load))
  const left = Math.max(...loads.map(load => load.length)) * charWidth + 2 * margin
  const room = width - left - right
  const middle = Math.max(...some.map(({ rounds }) => median(rounds)), Number.MIN_VALUE)
  const largest = Math.min(Math.max(...some.flatMap(({ rounds }) => rounds)), middle * outlier)
  const at = (value: number) => left + Math.min(value / largest, 1) * room
  const legend = legendOf(sides)
  const parts: string[] = []
  let y = legend.bottom + groupGap
  for (const load of loads) {
    const bars = some.filter(each => each.load === load)
    parts.push(label(load, left - margin, y + (bars.length * (barHeight + gap) - gap) / 2, 'end'))
    for (const figure of bars) {
      parts.push(...bar(figure, colourOf(sides.indexOf(figure.side)), y, at))
      y += barHeight + gap
    }
    y += groupGap
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" font-family="sans-serif" font-size="11" role="img">
<title>${escaped(metric)}</title>
<rect width="${width}" height="${y}" fill="#ffffff"/>
<text x="${margin}" y="${titleY}" font-size="13" font-weight="bold" fill="#222222">${escaped(metric)}</text>
${[...legend.parts, ...parts].join('\n')}
</svg>
`
}

function bar({ rounds, digits = 0 }: Figure, colour: string, y: number, at: (value: number) => number): string[] {
  const middle = median(rounds)
  const [from, to] = [at(Math.min(...rounds)), at(Math.max(...rounds))]
  const line = y + barHeight / 2
  return [
    `<rect x="${fixed(at(0))}" y="${y}" width="${fixed(at(middle) - at(0))}" height="${barHeight}" fill="${colour}"/>`,
    `<line x1="${fixed(from)}" x2="${fixed(to)}" y1="${line}" y2="${line}" stroke="#222222"/>`,
    label(middle.toFixed(digits), Math.max(at(middle), to) + 5, line, 'start'),
  ]
}

/** Lists the sides next to each other, on as many lines as needed. */
function legendOf(sides: readonly string[]): { parts: string[]; bottom: number } {
  let [x, y] = [margin, legendY] as [number, number]
  const parts = sides.flatMap((side, index) => {
    const wide = swatch + side.length * charWidth
    if (x > margin && x + wide > width - margin) [x, y] = [margin, y + legendLine]
    const entry = [
      `<rect x="${fixed(x)}" y="${y - 5}" width="10" height="10" fill="${colourOf(index)}"/>`,
      label(side, x + swatch, y, 'start'),
    ]
    x += wide + 2 * margin
    return entry
  })
  return { parts, bottom: y + 5 }
}

const label = (text: string, x: number, y: number, anchor: 'start' | 'end'): string =>
  `<text x="${fixed(x)}" y="${fixed(y + 4)}" text-anchor="${anchor}" fill="#222222">${escaped(text)}</text>`

const fixed = (value: number): string => String(Math.round(value * 10) / 10)

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
