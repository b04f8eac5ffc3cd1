/**
 * Measures the cost of a request if one, two or four processes serve one PostgreSQL database and share limits through
 * Valkey.
 */
import { Cluster } from '../test/postgres/cluster.ts'
import { ValkeyServer } from '../test/valkey/valkey-server.ts'
import { type Figure, finish, inTurn, type Line, ratioOf } from './kit/figures.ts'
import { closedLoop, type LoadFigures, type Side } from './kit/load.ts'
import { pinLoad, pinProcesses, serverCore, treeCpuMicrosOf } from './kit/machine.ts'
import { MockUpstream } from './kit/mock-upstream.ts'
import { benchOptions } from './kit/options.ts'
import { type Installation, prepareService, startService, withProduct } from './kit/product.ts'
import { fareboxChats, type RunningSide, withSides } from './kit/sides.ts'

const options = benchOptions()
const { rounds, phaseMs, warmUpMs } = options.isShort
  ? { rounds: 1, phaseMs: 300, warmUpMs: 200 }
  : { rounds: 3, phaseMs: 4_000, warmUpMs: 3_000 }
const processCounts = options.isShort ? [1, 2] : [1, 2, 4]

/**
 * Once with the same load split up, so that each process has smaller batches; and once with the same load for each,
 * which is the reason to run more processes.
 */
const connections = 32
const loads = [
  { load: `${connections} connections in total`, of: (count: number) => connections / count },
  { load: `${connections} connections per process`, of: () => connections },
]
const metrics = {
  requests: 'requests/s',
  cpu: 'CPU per request with database and Valkey, µs',
  services: 'of which the service, µs',
  p50: 'p50, ms',
} as const
const sideOf = (count: number) => `${count} process${count === 1 ? '' : 'es'}`

pinLoad()
await withProduct(options.product, installation => finish('scale', options, () => measure(installation)))

async function measure(installation: Installation): Promise<{ figures: Figure[]; goals: Line[] }> {
  const upstream = await MockUpstream.start()
  const cluster = await Cluster.start()
  const valkey = await ValkeyServer.start()
  try {
    // Both were started by this process, on the load's core.
    pinProcesses([cluster.processId, valkey.processId], serverCore)
    const starts = Array.from({ length: Math.max(...processCounts) }, (_, index) => async (): Promise<RunningSide> => {
      const name = `process ${index + 1}`
      const order = { ...installation, name, upstreamPort: upstream.port, database: cluster.url, valkey: valkey.url }
      const prepared = await prepareService(order)
      return fareboxChats(await startService(order, prepared), prepared)
    })
    const figures = await withSides(starts, sides => measureCounts(sides, [cluster.processId, valkey.processId]))
    const goals = loads.flatMap(({ load }) =>
      processCounts.slice(1).map((count): Line => {
        const value = ratioOf(figures, load, metrics.cpu, sideOf(count), sideOf(1))
        const what = `CPU per request, ${sideOf(count)} × one, ${load}`
        return { what, value, ...(count === 4 ? { atMost: 1.15 } : {}), digits: 2, unit: ' ×' }
      }),
    )
    return { figures, goals }
  } finally {
    await valkey.stop()
    await cluster.stop()
    await upstream.close()
  }
}

async function measureCounts(sides: readonly RunningSide[], stores: readonly number[]): Promise<Figure[]> {
  // One at a time, because code that has run little costs twice as much.
  for (const side of sides) await closedLoop(side, connections, warmUpMs)
  const figures: Figure[] = []
  for (const { load, of: connectionsOf } of loads) {
    process.stderr.write(`${load}: ${processCounts.map(sideOf).join(', ')} in turn.\n`)
    const measured = await inTurn(processCounts, rounds, count =>
      loadOn(sides.slice(0, count), stores, connectionsOf(count), phaseMs),
    )
    for (const [index, count] of processCounts.entries()) {
      const of = (key: keyof Shared) => (measured[index] ?? []).map(each => each[key])
      const side = sideOf(count)
      figures.push(
        { load, side, metric: metrics.requests, rounds: of('requestsPerSecond') },
        { load, side, metric: metrics.cpu, rounds: of('cpuMicros') },
        { load, side, metric: metrics.services, rounds: of('serviceMicros') },
        { load, side, metric: metrics.p50, rounds: of('p50Ms'), digits: 2 },
      )
    }
  }
  return figures
}

interface Shared extends Omit<LoadFigures, 'p99Ms'> {
  serviceMicros: number
}

/** Opens this many connections to each; the CPU time is that of all processes and of both stores. */
async function loadOn(
  sides: readonly Side[],
  stores: readonly number[],
  connectionsEach: number,
  forMs: number,
): Promise<Shared> {
  const cpuOf = (ids: readonly (number | undefined)[]) =>
    ids.reduce<number>((sum, id) => sum + (id === undefined ? 0 : treeCpuMicrosOf(id)), 0)
  const services = sides.map(({ pid }) => pid)
  const [serviceBefore, storeBefore] = [cpuOf(services), cpuOf(stores)]
  const all = await Promise.all(sides.map(side => closedLoop(side, connectionsEach, forMs)))
  const requestsPerSecond = all.reduce((sum, each) => sum + each.requestsPerSecond, 0)
  const requests = all.reduce((sum, each) => sum + each.requests, 0)
  const serviceMicros = (cpuOf(services) - serviceBefore) / requests
  const cpuMicros = serviceMicros + (cpuOf(stores) - storeBefore) / requests
  const p50Ms = all.reduce((sum, each) => sum + each.p50Ms * each.requests, 0) / requests
  return { requestsPerSecond, requests, cpuMicros, serviceMicros, p50Ms }
}
