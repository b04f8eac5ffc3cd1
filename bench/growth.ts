/** Measures a paid chat on ledgers of different sizes, and the bytes per entry. */
import { statSync } from 'node:fs'
import { dataFolder } from '#cli/data/data-folder.ts'
import { type Figure, finish, inTurn, type Line, ratioOf } from './kit/figures.ts'
import { fillEntries } from './kit/fill-ledger.ts'
import { closedLoop, type LoadFigures } from './kit/load.ts'
import { pinLoad } from './kit/machine.ts'
import { MockUpstream } from './kit/mock-upstream.ts'
import { benchOptions } from './kit/options.ts'
import { type Installation, prepareService, startService, withProduct } from './kit/product.ts'
import { fareboxChats, type RunningSide, withSides } from './kit/sides.ts'

const options = benchOptions()
const { rounds, phaseMs, warmUpMs, usualEntries } = options.isShort
  ? { rounds: 1, phaseMs: 250, warmUpMs: 100, usualEntries: [100, 2_000] }
  : { rounds: 5, phaseMs: 3_000, warmUpMs: 2_000, usualEntries: [1_000, 100_000, 10_000_000] }
const sizes = options.entries ?? usualEntries
const connectionCounts = [1, 32]

const metrics = {
  cpu: 'CPU per request, µs',
  p50: 'p50, ms',
  start: 'start to the first 200, ms',
  bytes: 'bytes per entry',
} as const
const loadOf = (connections: number) => `${connections} connection${connections === 1 ? '' : 's'}`
const sideOf = (entries: number) => `${entries.toLocaleString('en')} entries`

pinLoad()
await withProduct(options.product, installation => finish('growth', options, () => measure(installation)))

async function measure(installation: Installation): Promise<{ figures: Figure[]; goals: Line[] }> {
  const upstream = await MockUpstream.start()
  const bytes = new Map<number, number>()
  const startMs = new Map<number, number>()
  const starts = sizes.map(entries => async (): Promise<RunningSide> => {
    process.stderr.write(`Writing ${sideOf(entries)}.\n`)
    const order = { ...installation, name: sideOf(entries), upstreamPort: upstream.port }
    const prepared = await prepareService(order)
    const { database } = dataFolder(prepared.data)
    // The store moves its log into the file when it is closed.
    const before = statSync(database).size
    fillEntries(database, prepared.accounts, entries)
    bytes.set(entries, (statSync(database).size - before) / entries)
    const startedAt = performance.now()
    const server = await startService(order, prepared)
    startMs.set(entries, performance.now() - startedAt)
    return fareboxChats(server, prepared)
  })
  try {
    const figures = await withSides(starts, sides => measureAll(sides))
    for (const [load, metric, measured] of [
      ['one start', metrics.start, startMs],
      ['ledger file', metrics.bytes, bytes],
    ] as const)
      for (const entries of sizes)
        figures.push({ load, side: sideOf(entries), metric, rounds: [measured.get(entries) ?? Number.NaN] })
    return { figures, goals: goalsOf(figures) }
  } finally {
    await upstream.close()
  }
}

async function measureAll(sides: readonly RunningSide[]): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const connections of connectionCounts) {
    process.stderr.write(`${loadOf(connections)}: ${sides.map(({ name }) => name).join(', ')} in turn.\n`)
    for (const side of sides) await closedLoop(side, connections, warmUpMs)
    const measured = await inTurn(sides, rounds, side => closedLoop(side, connections, phaseMs))
    for (const [index, { name: side }] of sides.entries()) {
      const of = (key: keyof LoadFigures) => (measured[index] ?? []).map(each => each[key])
      const load = loadOf(connections)
      figures.push({ load, side, metric: metrics.cpu, rounds: of('cpuMicros') })
      figures.push({ load, side, metric: metrics.p50, rounds: of('p50Ms'), digits: 2 })
    }
  }
  return figures
}

function goalsOf(figures: readonly Figure[]): Line[] {
  const [smallest = 0, largest = 0] = [Math.min(...sizes), Math.max(...sizes)]
  const ratio = (load: string, metric: string) => ratioOf(figures, load, metric, sideOf(largest), sideOf(smallest))
  const times = { atMost: 1.2, digits: 2, unit: ' ×' }
  const than = `${sideOf(largest)} × ${sideOf(smallest)}`
  const bytes = figures.find(each => each.metric === metrics.bytes && each.side === sideOf(largest))?.rounds[0]
  return [
    ...connectionCounts.map(loadOf).flatMap(load => [
      { what: `CPU per request at ${load}, ${than}`, value: ratio(load, metrics.cpu), ...times },
      { what: `p50 at ${load}, ${than}`, value: ratio(load, metrics.p50), ...times },
    ]),
    { what: `bytes per entry, ${sideOf(largest)}`, value: bytes ?? Number.NaN, atMost: 400 },
  ]
}
