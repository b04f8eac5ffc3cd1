/** Compares streams through farebox, which counts and charges them, with a gateway that does not and a bare pipe. */
import { type Figure, finish, inTurn, type Line, median, ratioOf } from './kit/figures.ts'
import type { Side } from './kit/load.ts'
import { pinLoad } from './kit/machine.ts'
import { MockUpstream } from './kit/mock-upstream.ts'
import { benchOptions } from './kit/options.ts'
import { type Installation, otherName, sameName, withProduct } from './kit/product.ts'
import {
  bareSide,
  fareboxSide,
  noGateway,
  portkeySide,
  portkeyVersion,
  profileArgs,
  profiled,
  withSides,
} from './kit/sides.ts'
import { runStreams, type StreamFigures, type StreamLoad, stallReaders } from './kit/streams.ts'

const options = benchOptions()
const { rounds, warmUpMs, settleMs, phaseMs, stalled, stalledMs } = options.isShort
  ? { rounds: 1, warmUpMs: 750, settleMs: 500, phaseMs: 1_500, stalled: 2, stalledMs: 500 }
  : { rounds: 5, warmUpMs: 10_000, settleMs: 1_500, phaseMs: 4_000, stalled: 400, stalledMs: 10_000 }

const wholeLoads: StreamLoad[] = [
  { streams: 100, eventsPerSecond: 100 },
  { streams: 500, eventsPerSecond: 100 },
  { streams: 2_000, eventsPerSecond: 4 },
]
const loads = options.isShort
  ? [{ streams: 10, eventsPerSecond: 50 }]
  : wholeLoads.slice(0, options.profile ? 1 : undefined)
const loadOf = ({ streams, eventsPerSecond }: StreamLoad) =>
  `${streams.toLocaleString('en')} streams × ${eventsPerSecond} events/s`

const metrics = {
  cpu: 'CPU per event, µs',
  events: 'events/s',
  p50: 'p50 from engine to caller, ms',
  p99: 'p99 from engine to caller, ms',
  memory: 'memory per stream, kB',
  broken: 'streams that broke',
  stalled: 'memory per stalled reader, kB',
  accepted: 'read from the engine per stalled reader, kB',
} as const

const untouched = 'farebox, untouched'
const rewritten = 'farebox, rewritten'
const portkey = `Portkey ${portkeyVersion}`
const bare = 'bare undici pipe'

pinLoad()
await withProduct(options.product, installation => finish('stream', options, () => measure(installation)))

async function measure(installation: Installation): Promise<{ figures: Figure[]; goals: Line[] }> {
  const figures: Figure[] = []
  // New servers for each load: memory left by an earlier load would hide what this one takes.
  for (const load of loads) figures.push(...(await withServers(installation, load)))
  return { figures, goals: options.isShort || options.profile ? [] : goalsOf(figures) }
}

async function withServers(installation: Installation, load: StreamLoad): Promise<Figure[]> {
  const upstream = await MockUpstream.start()
  const nodeArgs = profileArgs(options)
  const label = `${load.streams}`
  const farebox = (name: string, model: string) => () =>
    fareboxSide({ ...installation, name, upstreamPort: upstream.port, nodeArgs, folderName: `${name} ${label}` }, model)
  const starts = [
    farebox(untouched, sameName),
    farebox(rewritten, otherName),
    () => portkeySide(upstream.port),
    () => bareSide(upstream.port),
  ]
  try {
    return await withSides(starts, async sides => {
      process.stderr.write(`${loadOf(load)}: ${sides.map(({ name }) => name).join(', ')} in turn.\n`)
      // Few streams, so that they leave little memory, and enough events for V8 to compile the paths that are measured.
      const few = { streams: options.isShort ? 5 : 20, eventsPerSecond: 100 }
      for (const side of sides) await runStreams(side, upstream, few, settleMs, warmUpMs)
      const all: Side[] = [...sides, noGateway(upstream.port)]
      const measured = await inTurn(all, rounds, side =>
        profiled(options, side, () => runStreams(side, upstream, load, settleMs, phaseMs)),
      )
      const figures = figuresOf(load, all, measured)
      if (load === loads[0]) {
        for (const side of sides) figures.push(...(await stalledFigures(side, upstream)))
      }
      return figures
    })
  } finally {
    await upstream.close()
  }
}

async function stalledFigures(side: Side, upstream: MockUpstream): Promise<Figure[]> {
  const { memoryBytes, acceptedBytes } = await stallReaders(side, upstream, stalled, stalledMs)
  const load = `${stalled} readers that stop`
  return [
    { load, side: side.name, metric: metrics.stalled, rounds: [memoryBytes / 1000] },
    { load, side: side.name, metric: metrics.accepted, rounds: [acceptedBytes / 1000] },
  ]
}

function figuresOf(streamLoad: StreamLoad, sides: readonly Side[], measured: readonly StreamFigures[][]): Figure[] {
  const load = loadOf(streamLoad)
  return sides.flatMap(({ name: side, pid }, index) => {
    const of = (key: keyof StreamFigures) => (measured[index] ?? []).map(each => each[key])
    // Later rounds find the first one's memory already allocated.
    const [memory = 0] = of('bytesOfStream')
    const ofServer: Figure[] = [
      { load, side, metric: metrics.cpu, rounds: of('cpuMicros'), digits: 1 },
      ...(streamLoad.streams >= 2_000 ? [{ load, side, metric: metrics.memory, rounds: [memory / 1000] }] : []),
    ]
    return [
      ...(pid === undefined ? [] : ofServer),
      { load, side, metric: metrics.events, rounds: of('eventsPerSecond') },
      { load, side, metric: metrics.broken, rounds: of('broken') },
      { load, side, metric: metrics.p50, rounds: of('p50Ms'), digits: 2 },
      { load, side, metric: metrics.p99, rounds: of('p99Ms'), digits: 2 },
    ]
  })
}

function goalsOf(figures: readonly Figure[]): Line[] {
  const [hundred = '', fiveHundred = '', many = ''] = wholeLoads.map(loadOf)
  const ratio = (load: string, metric: string, side: string, other: string) =>
    ratioOf(figures, load, metric, side, other)
  const middleOf = (load: string, metric: string, side: string) =>
    median(figures.find(each => each.load === load && each.metric === metric && each.side === side)?.rounds ?? [])
  const times = { digits: 2, unit: ' ×' }
  const cpu = (side: string, other: string) => ratio(hundred, metrics.cpu, side, other)
  const added = middleOf(hundred, metrics.p50, untouched) - middleOf(hundred, metrics.p50, 'no gateway')
  const stalledLoad = `${stalled} readers that stop`
  return [
    { what: 'CPU per event at 100 × 100, untouched, × bare', value: cpu(untouched, bare), atMost: 1.3, ...times },
    { what: 'CPU per event at 100 × 100, rewritten, × bare', value: cpu(rewritten, bare), atMost: 1.8, ...times },
    {
      what: 'CPU per event at 100 × 100, untouched, × Portkey',
      value: cpu(untouched, portkey),
      atMost: 0.65,
      ...times,
    },
    {
      what: 'CPU per event at 100 × 100, rewritten, × Portkey',
      value: cpu(rewritten, portkey),
      atMost: 0.65,
      ...times,
    },
    { what: 'added p50 at 100 × 100, untouched', value: added, atMost: 1, digits: 2, unit: ' ms' },
    {
      what: 'events/s at 500 × 100, untouched, × bare',
      value: ratio(fiveHundred, metrics.events, untouched, bare),
      atLeast: 0.98,
      ...times,
    },
    {
      what: 'events/s at 2,000 × 4, untouched, × no gateway',
      value: ratio(many, metrics.events, untouched, 'no gateway'),
      atLeast: 0.98,
      ...times,
    },
    {
      what: 'memory per stream at 2,000 × 4, untouched, × bare',
      value: ratio(many, metrics.memory, untouched, bare),
      atMost: 1.15,
      ...times,
    },
    {
      what: 'memory per stalled reader, untouched',
      value: middleOf(stalledLoad, metrics.stalled, untouched),
      atMost: 256,
      unit: ' kB',
    },
  ]
}
