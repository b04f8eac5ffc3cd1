/**
 * Measures the ledger on both stores, beside bare commits and the same rows without rules on the same disk, and then
 * paid chats over HTTP.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findPostgres } from '../test/needs/find-program.ts'
import { Cluster } from '../test/postgres/cluster.ts'
import { type Figure, finish, inTurn, type Line, median } from './kit/figures.ts'
import { closedLoop } from './kit/load.ts'
import { loadCore, serverCore } from './kit/machine.ts'
import { MockUpstream } from './kit/mock-upstream.ts'
import { benchOptions } from './kit/options.ts'
import { type Installation, withProduct } from './kit/product.ts'
import { fareboxSide, withSides } from './kit/sides.ts'
import { callerCounts, type LedgerFigures, measureLedger, measureOnSlowDisk, slowSyncMs } from './ledger/measure.ts'
import { bareRowUnits, postgresSide, sqliteSide } from './ledger/sides.ts'

const options = benchOptions()
const phases = options.isShort
  ? { rounds: 1, phaseMs: 200, warmUpMs: 200 }
  : { rounds: 5, phaseMs: 1_000, warmUpMs: 1_500 }
const chats = options.isShort
  ? { rounds: 1, phaseMs: 300, warmUpMs: 300 }
  : { rounds: 5, phaseMs: 5_000, warmUpMs: 8_000 }

const metrics = { writes: 'writes/s', chats: 'paid chats/s over HTTP', p50: 'p50, ms', p99: 'p99, ms' } as const
const sides = { sqlite: 'SQLite', slow: `SQLite, ${slowSyncMs} ms more per sync`, postgres: 'PostgreSQL' } as const
const loads = {
  bareCommits: 'commits of one small row',
  bareRows: `the ledger's rows without rules, ${bareRowUnits} units per commit`,
  units: (callers: number) => `units, ${callers} caller${callers === 1 ? '' : 's'}`,
} as const
const connections = 64

/** A slow disk hides everything but the number of syncs. */
const usualGoals = { one: 0.35, many: undefined, rows: 0.8 }
const slowGoals = { one: undefined, many: 20, rows: undefined }

await withProduct(options.product, installation => finish('ledger', options, () => measure(installation)))

async function measure(installation: Installation): Promise<{ figures: Figure[]; goals: Line[] }> {
  const cluster = findPostgres() ? await Cluster.start() : null
  if (!cluster) tell('Without PostgreSQL, which is not installed here.')
  try {
    const writes = [...(await measureWrites(installation.folder, cluster))]
    const overHttp = await measureChats(installation, cluster)
    return {
      figures: [...writes.flatMap(([side, figures]) => figuresOf(side, figures)), ...overHttp],
      goals: [
        ...writes.flatMap(([side, figures]) => goalsOf(side, figures)),
        ...overHttp.filter(({ metric }) => metric === metrics.chats).map(goalOfChats),
      ],
    }
  } finally {
    await cluster?.stop()
  }
}

/** On all cores, because the ledger writes on a thread of its own, or in the database's process. */
async function measureWrites(folder: string, cluster: Cluster | null): Promise<Map<string, LedgerFigures>> {
  const measured = new Map<string, LedgerFigures>()
  tell(`${sides.sqlite}: commits, rows and units in turn.`)
  const place = join(folder, 'sqlite')
  await mkdir(place)
  const sqlite = await sqliteSide(place)
  measured.set(sides.sqlite, await measureLedger(sqlite, phases).finally(() => sqlite.close()))
  tell(`${sides.slow}: the same.`)
  const slow = await measureOnSlowDisk(folder, phases)
  if (slow) measured.set(sides.slow, slow)
  else tell('Skipped, because that needs a C compiler.')
  if (!cluster) return measured
  tell(`${sides.postgres}: commits and units in turn.`)
  const postgres = await postgresSide(cluster.url)
  measured.set(sides.postgres, await measureLedger(postgres, phases).finally(() => postgres.close()))
  return measured
}

function figuresOf(side: string, { bareCommits, bareRows, units }: LedgerFigures): Figure[] {
  const figure = (load: string, rounds: number[]): Figure => ({ load, metric: metrics.writes, side, rounds })
  return [
    figure(loads.bareCommits, bareCommits),
    ...callerCounts.map(callers => figure(loads.units(callers), units[callers])),
    ...(bareRows ? [figure(loads.bareRows, bareRows)] : []),
  ]
}

function goalsOf(side: string, { bareCommits, bareRows, units }: LedgerFigures): Line[] {
  const goals = side === sides.slow ? slowGoals : usualGoals
  const line = (callers: 1 | 64, others: readonly number[], what: string, atLeast?: number): Line => ({
    what: `${side}: ${loads.units(callers)}, × ${what}`,
    value: besides(units[callers], others),
    digits: 2,
    unit: ' ×',
    ...(atLeast === undefined ? {} : { atLeast }),
  })
  return [
    line(1, bareCommits, loads.bareCommits, goals.one),
    line(64, bareCommits, loads.bareCommits, goals.many),
    ...(bareRows ? [line(64, bareRows, loads.bareRows, goals.rows)] : []),
  ]
}

/** The median of the rounds' own ratios, because a busy moment of the machine affects both sides of a round. */
function besides(values: readonly number[], others: readonly number[]): number {
  return median(values.map((value, round) => value / (others[round] ?? Number.NaN)))
}

/** Everything runs on all cores, as the writes do. */
async function measureChats(installation: Installation, cluster: Cluster | null): Promise<Figure[]> {
  const upstream = await MockUpstream.start()
  try {
    const order = { ...installation, upstreamPort: upstream.port, cores: `${serverCore},${loadCore}` }
    const starts = [() => fareboxSide({ ...order, name: sides.sqlite })]
    if (cluster) starts.push(() => fareboxSide({ ...order, name: sides.postgres, database: cluster.url }))
    return await withSides(starts, async services => {
      tell(`Paid chats over HTTP: ${services.map(({ name }) => name).join(', ')} in turn.`)
      for (const service of services) await closedLoop(service, connections, chats.warmUpMs)
      const measured = await inTurn(services, chats.rounds, service => closedLoop(service, connections, chats.phaseMs))
      return services.flatMap(({ name: side }, index): Figure[] => {
        const load = `${connections} connections`
        const of = (key: 'requestsPerSecond' | 'p50Ms' | 'p99Ms') => (measured[index] ?? []).map(each => each[key])
        return [
          { load, side, metric: metrics.chats, rounds: of('requestsPerSecond') },
          { load, side, metric: metrics.p50, rounds: of('p50Ms'), digits: 1 },
          { load, side, metric: metrics.p99, rounds: of('p99Ms'), digits: 1 },
        ]
      })
    })
  } finally {
    await upstream.close()
  }
}

function goalOfChats({ side, rounds }: Figure): Line {
  const what = `${side}: ${metrics.chats}, ${connections} connections`
  return { what, value: median(rounds), atLeast: 3_000, unit: '/s' }
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`)
}
