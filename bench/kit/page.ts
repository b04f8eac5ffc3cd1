import {
  distinct,
  type Figure,
  goalsInWords,
  machineInWords,
  median,
  metricsOf,
  type Result,
  readResult,
  tableOf,
} from './figures.ts'

interface Section {
  /** Of the command and its kept figures. */
  name: string
  title: string
  text: string
  /** Metrics that are drawn; all are in tables. */
  plots?: readonly string[]
}

/** The benchmarks that keep their figures, in the order of the page. */
const sections: readonly Section[] = [
  {
    name: 'proxy',
    title: 'JSON chats',
    text: 'farebox looks up the key, counts limits, holds and charges durably. Portkey and the bare pipe do none of that. The open loop sends at a fixed rate and counts from when a chat was due, so waiting is not left out.',
    plots: ['CPU a request, µs', 'p50, ms'],
  },
  {
    name: 'stream',
    title: 'Streams',
    text: '“Untouched”: callers and engine call the model by the same name. “Rewritten”: by different names, so each event changes on its way. farebox counts the tokens of either and charges them.',
    plots: ['CPU an event, µs', 'p50 from engine to caller, ms'],
  },
  {
    name: 'start',
    title: 'Start',
    text: 'From the start of the process to its first 200 on `/api/v1/models`, with compiled code in its cache. The open holds are those of a killed service; half of them have a checkpoint that has to be charged.',
    plots: ['start to the first 200, ms'],
  },
  {
    name: 'growth',
    title: 'Growth',
    text: 'One service for each size of its SQLite ledger. Each entry was written by a hold and a capture, as a chat writes it.',
    plots: ['p50, ms'],
  },
  {
    name: 'scale',
    title: 'Several processes',
    text: 'They serve one PostgreSQL database, share limits through Valkey, and share one core with both. Once the same connections are divided among them, so that each has smaller batches than one process has; once each has as many as one process, which is why more processes are run.',
    plots: ['CPU a request with database and Valkey, µs'],
  },
  {
    name: 'signed',
    title: 'Signed by wallets',
    text: 'The same chats with a key, with a new sign-in of a wallet that the service knows, and with one of a wallet that it meets for the first time. The times at a fixed rate are those of requests with a key, while as many of each kind are made beside them.',
    plots: ['CPU a request, µs'],
  },
  {
    name: 'top-up',
    title: 'Top-up',
    text: 'On the local EVM chain of `farebox up`: the payment is verified, sent, mined and credited before it is answered. Sent again, it is answered from its record.',
  },
  {
    name: 'endure',
    title: 'Endurance',
    text: 'A service of its own for each row. Memory and resources after the full load are compared with those after a warm-up of one minute. The other callers read an endless stream until they leave, or leave while their streams run; the engine then goes on until the service ends it, and every call must be charged once.',
  },
]

const plotName = (name: string, metric: string): string =>
  `${name}-${metric.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.svg`

/** docs/performance.md: what it says of each benchmark comes from the figures that its last whole run kept. */
export function performancePage(): string {
  const parts = sections.flatMap(section => {
    const result = readResult(section.name)
    return result ? sectionOf(section, result) : []
  })
  return `${[...opening, ...(parts.length ? parts : ['', 'No figures are kept yet.'])].join('\n')}\n`
}

const opening = [
  '# Performance',
  '',
  'Each section is printed by `npm run generate` from the figures of one command. Servers run on one core; the load and a mock engine run on another. All sides are measured in turn in each round, and a figure is the median of its rounds, with the smallest and largest in parentheses. Compare sides, not absolute figures: those belong to the machine that the section names.',
]

function sectionOf({ name, title, text, plots = [] }: Section, { machine, figures, goals }: Result): string[] {
  const tables = metricsOf(figures).flatMap(metric => [...tableOf(figures, metric), ''])
  const images = plots.map(metric => `![${metric}](performance/${plotName(name, metric)})`)
  const list = goalsInWords(goals).map(goal => `- ${goal}`)
  return [
    ...['', `## ${title}`, '', `\`npm run bench:${name}\`. ${text}`, ''],
    ...[`${machineInWords(machine)}.`, ''],
    ...(images.length ? [...images, ''] : []),
    ...tables,
    ...list,
  ]
}

/** The plots of all kept figures, by their place in the repository. */
export const performancePlots: readonly { path: string; make: () => Promise<string> }[] = sections.flatMap(
  ({ name, plots = [] }) =>
    plots.flatMap(metric => {
      const figures = readResult(name)?.figures
      if (!figures) return []
      return [{ path: `docs/performance/${plotName(name, metric)}`, make: async () => barPlot(figures, metric) }]
    }),
)

/** Of the image, in its own units. */
const [width, left, right, barHeight, gap, groupGap, top] = [720, 190, 70, 14, 3, 12, 54] as const

/** Readable on a light and a dark page, and told apart by those who see fewer colours. */
const colours = ['#0072b2', '#56b4e9', '#e69f00', '#999999', '#cc79a7', '#009e73']

/** One metric as horizontal bars, a group a load and a bar a side, with the smallest and largest round as a line. */
function barPlot(figures: readonly Figure[], metric: string): string {
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
