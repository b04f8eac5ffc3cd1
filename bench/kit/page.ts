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
  /** Name of the command and its stored measurements. */
  name: string
  title: string
  text: string
  /** Metrics to plot; all are in tables. */
  plots?: readonly string[]
  /** Where the time goes that a goal doesn't allow, and what was tried. */
  rest?: readonly string[]
}

/** The benchmarks whose measurements are stored, in the order of the page. */
const sections: readonly Section[] = [
  {
    name: 'proxy',
    title: 'JSON chats',
    text: 'farebox looks up the key, checks limits, and durably holds and charges the price. Portkey and the bare pipe, a minimal proxy on undici, do none of that. “Bare pipe with a ledger” is the bare pipe with one key, plus the ledger’s rows, written as plain statements before the engine is called and before the answer is sent. It has no limits, prices, schemas or rules, so nothing that charges on this store can cost less. The open loop sends at a fixed rate and measures from the time when a chat was due, so queueing is included.',
    plots: ['CPU per request, µs', 'p50, ms'],
    rest: [
      'The bare pipe with a ledger reaches 2.6 times Portkey’s requests per second, with 0.34 times its CPU time and 0.47 times its p50. So the goals for requests per second and p50 are out of reach for anything that charges durably on this store, and the goal for CPU time leaves nothing for limits, prices and rules. In an earlier profile at 32 connections, the main thread spent 6 % of its time on limits, 6 % on planning a chat and its price, 6 % on logs and traces, 5 % on routing and the state of the request, 4 % on identity, and 3 % on validation.',
      'In an earlier profile of both threads, the main thread took two thirds of the time and the ledger’s writer one third. Of the main thread’s part, 16 % was farebox’s own compiled code, 9 % Node’s and undici’s, 46 % V8’s builtins and runtime, 10 % system calls, and 1 % garbage collection. Allocations were spread over some sixty functions, none of which made more than 3 % of them.',
      'Node’s large pages (`--use-largepages=silent`) lowered the CPU per request by 8 % in alternating rounds; the figures above are without them. Large pages for the C library brought no gain. In a profile by wall time, messages to the writer’s thread seem to take a sixth of the time, but during that time the writer itself runs on the same core: copying a unit costs 2.5 µs, and packing units into one list would save less than 1 µs of it.',
      '`farebox serve` switches V8’s pretenuring off: [objects of requests stay young](decisions/objects-stay-young.md). After a load of 256 connections, in alternating rounds on this machine, that raised the chats per second by 13 to 32 %, and lowered the CPU per chat by 13 to 28 % and the p99 at 500 chats per second from 26–56 ms to 5–10 ms. Where at most 32 connections were ever open, it made no difference (201 and 209 µs).',
    ],
  },
  {
    name: 'stream',
    title: 'Streams',
    text: '“Untouched”: the callers and the engine use the same name for the model. “Rewritten”: they use different names, so farebox changes each event. It counts and charges the tokens in both cases.',
    plots: ['CPU per event, µs', 'p50 from engine to caller, ms'],
    rest: [
      'In alternating rounds of 50 streams × 50 events/s on another machine, [sending chunks at once](decisions/chunks-sent-at-once.md) lowered the CPU per event from 1.49 to 1.21 times that of the bare pipe, and from 0.86 to 0.70 times that of Portkey. An earlier run of this benchmark, on another machine, gave 1.15 and 1.21 times the CPU per event of the bare pipe, and 0.66 and 0.69 times that of Portkey. A quarter of the remaining CPU time is the write to the caller’s socket. An open stream holds 48 kB of objects (19 kB in the bare pipe): headers, the answer’s state, its charge, and the parts that cancel it.',
      'Memory is that of the whole process, measured once for each load, and depends on when V8 last collected garbage. Most of what the stalled readers cost is room that V8 adds to its heap while 1.6 GB pass through within seconds: in the same process, 400 more readers took 7 to 25 kB each. With `--max-semi-space-size=8` the first 400 took 147 to 216 kB each, instead of 441 to 503 without it (440 to 577 in the bare pipe). [Endurance](#endurance) shows what one reader keeps.',
    ],
  },
  {
    name: 'start',
    title: 'Start',
    text: 'The time from the start of the process to its first 200 on `/api/v1/models`, with a warm compile cache. Node’s own `fetch` is not loaded until something uses it. A killed service left the open holds; half of them have a checkpoint that must be charged.',
    plots: ['start to the first 200, ms'],
    rest: [
      'The bare pipe, which only loads undici, takes more than half of that time. A profile of the first case shows where the rest goes: about a fifth of the CPU time loads and links modules, a tenth builds the schemas of operations and errors, and less than a tenth collects garbage. ASCII-only bundles brought no gain, and V8 flags cost more than they saved, because most of them discard the compile cache.',
    ],
  },
  {
    name: 'ledger',
    title: 'Ledger',
    text: 'A unit is a hold or a charge with two lines, spread over 400 customers, and acknowledged once it is durable. Beside it, in turn and on the same disk: commits of one small row, and the rows of the same units, written as plain statements by one thread without any rule. Then packed services on both stores answer chats with a key, limits and a durable charge. Here the servers, the database, the engine and the load share all cores.',
    rest: [
      'In batches of 64 on one thread, a unit took 52 µs, and its rows without rules 44 µs: 0.85 ×. The rest is the hand-over to the writer’s thread: while it commits the units of all callers, the main thread is almost idle, and while the callers continue, the writer waits. An earlier version of this benchmark, with its engine inside the service, measured 3,480 to 4,020 chats per second on SQLite and 3,070 to 3,350 on PostgreSQL, on other machines.',
    ],
  },
  {
    name: 'growth',
    title: 'Growth',
    text: 'One service for each size of its SQLite ledger. The entries are inserted in bulk, in the form that the hold and capture of a chat leave: ten million take about two minutes and 3.2 GB.',
    plots: ['p50, ms'],
  },
  {
    name: 'scale',
    title: 'Several processes',
    text: 'The processes serve one PostgreSQL database, share limits through Valkey, and share one core with both. In the first row the processes share 32 connections, so each has smaller batches than a single process. In the second row each has 32 connections; such a load is the reason to run several processes.',
    plots: ['CPU per request with database and Valkey, µs'],
    rest: [
      'With eight connections each, fewer holds and charges share a commit, a message and a turn of the event loop: per request, the service then takes 1.7 times, and the database with Valkey 2.1 times, the CPU of one process. With 32 connections each, four processes took 1.34 times the CPU of one process here, and 0.89 times in a run on another machine; the rounds of a single process differ by a factor of 1.6.',
    ],
  },
  {
    name: 'signed',
    title: 'Signed by wallets',
    text: 'The same chats with a key, with a new sign-in of a wallet that the service knows, and with the first sign-in of a new wallet. The rows at a fixed rate show the latency of requests with a key while the same number of requests of the column’s kind run beside them.',
    plots: ['CPU per request, µs'],
    rest: [
      'A sign-in takes 130 µs of CPU more than a key, and 250 µs if the wallet is new: its message is parsed, its signer recovered and its nonce stored, and a new wallet gets an account. A run on another machine gave 0.81 and 0.78 times the requests/s of a key, and 1.33 and 1.20 times the p99 of the other requests.',
    ],
  },
  {
    name: 'operator',
    title: 'Operators',
    text: 'One service for each store, with 1,000 customers, a million entries over 30 days, and 10 top-ups and 10 jobs per customer. Each row is a query of the console or of `farebox usage`, sent 50 times over HTTP with different parameters. Then chats at a fixed rate are measured with and without an operator who opens a page every 0.2 s.',
    rest: [
      'The slowest queries on PostgreSQL add up 30 days of daily sums. A query occupies at most one database process. The service and the database share one core here, so a chat waits while either of them adds up sums.',
    ],
  },
  {
    name: 'top-up',
    title: 'Top-up',
    text: 'On the local EVM chain of `farebox up`: the payment is verified, sent, mined and credited before it is answered. A repeated payment is answered from its record.',
  },
  {
    name: 'endure',
    title: 'Endurance',
    text: 'Each row has its own service. Memory and resources after the full load are compared with those after a warm-up of one minute. In the first three rows, callers stop reading, read slowly, or disconnect while their streams run. The engine then continues until the service ends it, and every call must be charged once.',
    rest: [
      'V8 keeps the pages that a load needed for the next one, and returns them in a collection that it starts itself, often more than a minute later; until then, the process can hold some 200 MB more. So resident memory is measured twice: after a collection that returns these pages, and before it. Runs that included them ended between 0.95 and 2.29 times the memory after the warm-up, while objects and buffers did not grow. After a load of one minute, 113 MB of V8’s heap was room for new objects, which `NODE_OPTIONS=--max-semi-space-size=16` limits.',
    ],
  },
]

const plotName = (name: string, metric: string): string =>
  `${name}-${metric.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.svg`

/** docs/performance.md: everything about each benchmark comes from its last full run. */
export function performancePage(): string {
  const parts = sections.flatMap(section => {
    const result = readResult(section.name)
    return result ? sectionOf(section, result) : []
  })
  return `${[...opening, ...(parts.length ? parts : ['', 'There are no figures yet.'])].join('\n')}\n`
}

const opening = [
  '# Performance',
  '',
  'Each section is printed by `npm run generate` from the figures of one command. The servers run on one core; the load and a mock engine run on another. Each round measures every server in turn, and a figure is the median of the rounds, with the smallest and largest in parentheses. Compare the servers with each other; absolute figures depend on the machine that the section names.',
]

function sectionOf(
  { name, title, text, plots = [], rest = [] }: Section,
  { machine, figures, goals }: Result,
): string[] {
  const tables = metricsOf(figures).flatMap(metric => [...tableOf(figures, metric), ''])
  const images = plots.map(metric => `![${metric}](performance/${plotName(name, metric)})`)
  const list = goalsInWords(goals).map(goal => `- ${goal}`)
  return [
    ...['', `## ${title}`, '', `\`npm run bench:${name}\`. ${text}`, ''],
    ...[`${machineInWords(machine)}.`, ''],
    ...(images.length ? [...images, ''] : []),
    ...tables,
    ...list,
    ...rest.flatMap(paragraph => ['', paragraph]),
  ]
}

/** The plots of all stored measurements, by path in the repository. */
export const performancePlots: readonly { path: string; make: () => Promise<string> }[] = sections.flatMap(
  ({ name, plots = [] }) =>
    plots.flatMap(metric => {
      const figures = readResult(name)?.figures
      if (!figures) return []
      return [{ path: `docs/performance/${plotName(name, metric)}`, make: async () => barPlot(figures, metric) }]
    }),
)

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
