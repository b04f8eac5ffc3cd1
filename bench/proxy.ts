/** JSON chats through farebox, which charges them, beside a gateway that does not, a bare pipe with a ledger, and a bare pipe. */
import { type Figure, finish, inTurn, type Line, median, ratioOf } from './kit/figures.ts'
import { closedLoop, type LoadFigures, openLoop, type Side } from './kit/load.ts'
import { pinLoad } from './kit/machine.ts'
import { MockUpstream } from './kit/mock-upstream.ts'
import { benchOptions } from './kit/options.ts'
import { type Installation, withProduct } from './kit/product.ts'
import {
  allocationArgs,
  bareSide,
  bytesPerRequest,
  fareboxSide,
  leastName,
  leastSide,
  noGateway,
  portkeySide,
  portkeyVersion,
  profileArgs,
  profiled,
  type RunningSide,
  withSides,
} from './kit/sides.ts'

const options = benchOptions()
// The first warm-up lasts until V8 has compiled the paths that are measured; what a start costs is `bench:start`'s figure.
const { rounds, phaseMs, firstWarmUpMs, warmUpMs, openLoopMs } = options.isShort
  ? { rounds: 1, phaseMs: 250, firstWarmUpMs: 100, warmUpMs: 100, openLoopMs: 400 }
  : { rounds: 5, phaseMs: 3_000, firstWarmUpMs: 15_000, warmUpMs: 2_000, openLoopMs: 8_000 }
const connectionCounts = options.profile ? [32] : options.isShort ? [1, 32] : [1, 32, 256]
/** Chats per second of the open loop: what every side can handle, so that only the added latency shows. */
const openLoopRate = 500

const metrics = {
  requests: 'requests/s',
  cpu: 'CPU per request, µs',
  p50: 'p50, ms',
  p99: 'p99, ms',
  bytes: 'allocated per request by the main thread, bytes',
} as const

const portkey = `Portkey ${portkeyVersion}`
const loadOf = (connections: number) => `${connections} connection${connections === 1 ? '' : 's'}`
const openLoad = `${openLoopRate} requests/s, open loop`

pinLoad()
await withProduct(options.product, installation => finish('proxy', options, () => measure(installation)))

async function measure(installation: Installation): Promise<{ figures: Figure[]; goals: Line[] }> {
  const upstream = await MockUpstream.start()
  const { folder } = installation
  const nodeArgs = options.profile ? profileArgs(options) : allocationArgs(folder)
  const starts = [
    () => fareboxSide({ ...installation, name: 'farebox', upstreamPort: upstream.port, nodeArgs }),
    () => portkeySide(upstream.port, nodeArgs),
    () => leastSide(upstream.port, folder, nodeArgs),
    () => bareSide(upstream.port, nodeArgs),
  ]
  try {
    const figures = await withSides(starts, async sides => [
      ...(await closedLoops(sides)),
      ...(options.profile ? [] : await openLoops([...sides, noGateway(upstream.port)])),
      ...(options.profile ? [] : await allocations(sides, folder)),
    ])
    return { figures, goals: options.profile ? [] : goalsOf(figures) }
  } finally {
    await upstream.close()
  }
}

async function closedLoops(sides: readonly RunningSide[]): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const connections of connectionCounts) {
    process.stderr.write(`${loadOf(connections)}: ${sides.map(({ name }) => name).join(', ')} in turn.\n`)
    const ms = connections === connectionCounts[0] ? firstWarmUpMs : warmUpMs
    for (const side of sides) await closedLoop(side, connections, ms)
    const measured = await inTurn(sides, rounds, side =>
      profiled(options, side, () => closedLoop(side, connections, phaseMs)),
    )
    figures.push(...figuresOf(loadOf(connections), sides, measured))
  }
  return figures
}

async function openLoops(sides: readonly Side[]): Promise<Figure[]> {
  process.stderr.write(`${openLoad}.\n`)
  for (const side of sides) await openLoop(side, openLoopRate, warmUpMs)
  const measured = await inTurn(sides, rounds, side => openLoop(side, openLoopRate, openLoopMs))
  return figuresOf(openLoad, sides, measured)
}

/** Last, because counting slows what is counted. */
async function allocations(sides: readonly RunningSide[], folder: string): Promise<Figure[]> {
  const load = 32
  const measured = await inTurn(sides, rounds, side =>
    bytesPerRequest(side, folder, () => closedLoop(side, load, phaseMs)),
  )
  return sides.map(({ name: side }, index) => ({
    load: loadOf(load),
    side,
    metric: metrics.bytes,
    rounds: measured[index] ?? [],
  }))
}

function figuresOf(load: string, sides: readonly Side[], measured: readonly LoadFigures[][]): Figure[] {
  return sides.flatMap(({ name: side, pid }, index) => {
    const of = (key: keyof LoadFigures) => (measured[index] ?? []).map(each => each[key])
    return [
      { load, side, metric: metrics.requests, rounds: of('requestsPerSecond') },
      ...(pid === undefined ? [] : [{ load, side, metric: metrics.cpu, rounds: of('cpuMicros') }]),
      { load, side, metric: metrics.p50, rounds: of('p50Ms'), digits: 2 },
      { load, side, metric: metrics.p99, rounds: of('p99Ms'), digits: 2 },
    ]
  })
}

function goalsOf(figures: readonly Figure[]): Line[] {
  const ratio = (metric: string, side = 'farebox') => ratioOf(figures, loadOf(32), metric, side, portkey)
  const added = (metric: string) => {
    const of = (side: string) =>
      figures.find(each => each.load === openLoad && each.metric === metric && each.side === side)?.rounds ?? []
    const base = of('no gateway')
    return median(of('farebox').map((value, round) => value - (base[round] ?? Number.NaN)))
  }
  const third = { atMost: 0.33, digits: 2, unit: ' ×' }
  return [
    {
      what: 'requests/s at 32 connections, × Portkey',
      value: ratio(metrics.requests),
      atLeast: 3,
      digits: 2,
      unit: ' ×',
    },
    { what: 'CPU per request at 32 connections, × Portkey', value: ratio(metrics.cpu), ...third },
    { what: 'p50 at 32 connections, × Portkey', value: ratio(metrics.p50), ...third },
    { what: 'p99 at 32 connections, × Portkey', value: ratio(metrics.p99), ...third },
    // What no service that charges on this store can beat.
    ...[metrics.requests, metrics.cpu, metrics.p50, metrics.p99].map(metric => ({
      what: `${metric} at 32 connections, bare pipe with a ledger × Portkey`,
      ...{ value: ratio(metric, leastName), digits: 2, unit: ' ×' },
    })),
    { what: 'added p50 at 500 requests/s', value: added(metrics.p50), atMost: 1, digits: 2, unit: ' ms' },
    { what: 'added p99 at 500 requests/s', value: added(metrics.p99), atMost: 8, digits: 2, unit: ' ms' },
  ]
}
