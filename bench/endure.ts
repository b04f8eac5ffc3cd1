/**
 * Measures what a long full load leaves behind, and the cost of callers that stop reading, read slowly or leave all at
 * once.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dataFolder } from '#cli/data/data-folder.ts'
import { openForReading } from '#ledger/store/sqlite/connection.ts'
import { type Figure, finish, type Line } from './kit/figures.ts'
import { Caller, closedLoop } from './kit/load.ts'
import { pinLoad } from './kit/machine.ts'
import { MockUpstream, tokensReported } from './kit/mock-upstream.ts'
import { benchOptions } from './kit/options.ts'
import { type Installation, prepareService, startService, withProduct } from './kit/product.ts'
import { fareboxChats, type RunningSide } from './kit/sides.ts'
import type { ServerState } from './kit/state-on-signal.ts'
import { runStreams, type StreamLoad } from './kit/streams.ts'

const options = benchOptions()
const { warmUpMs, loadMs, restMs, streamMs, readers, readMs, leavers } = options.isShort
  ? { warmUpMs: 500, loadMs: 1_500, restMs: 6_000, streamMs: 1_000, readers: 5, readMs: 1_500, leavers: 20 }
  : { warmUpMs: 60_000, loadMs: 600_000, restMs: 90_000, streamMs: 8_000, readers: 500, readMs: 20_000, leavers: 1_000 }

const side = 'farebox'
const connections = 32
const streams: StreamLoad = options.isShort
  ? { streams: 5, eventsPerSecond: 50 }
  : { streams: 100, eventsPerSecond: 20 }
const loads = {
  full: `${loadMs / 1000} s of ${connections} connections and ${streams.streams} streams, then at rest`,
  stopped: `${readers} readers that stop`,
  slow: `${readers} readers of 1 kB/s`,
  leave: `${leavers.toLocaleString('en')} streams abandoned at once`,
}
const metrics = {
  requests: 'chats/s',
  resident: 'resident memory, unused pages returned, × after the warm-up',
  residentBefore: 'resident memory, unused pages included, × after the warm-up',
  held: 'objects and buffers, × after the warm-up',
  resources: 'sockets, timers and other resources left',
  late: 'event loop delay p99.9, ms',
  broken: 'streams that broke',
  memory: 'objects and buffers per caller, kB',
  grown: 'resident memory per caller, kB',
  sockets: 'connections to the engine left',
  holds: 'holds left',
  charged: 'calls charged, × calls made',
  tokens: 'tokens charged, × tokens made',
} as const

/** An abandoned stream continues for 30 s and has 5 s more to report its usage; a busy service takes longer. */
const endsWithinMs = 90_000
const askEveryMs = 100
const leftMs = 1_000

pinLoad()
await withProduct(options.product, installation =>
  finish('endure', { ...options, isShort: options.isShort || options.isWithoutLoad }, () => measure(installation)),
)

async function measure(installation: Installation): Promise<{ figures: Figure[]; goals: Line[] }> {
  const stopped = reading(caller => caller.stopReading())
  const slow = reading(caller => caller.readSlowly(1_000))
  // A new service for each: memory left by an earlier load would hide what this one takes.
  const figures = [
    ...(await withService(installation, loads.stopped, service => groups(service, readers, stopped))),
    ...(await withService(installation, loads.slow, service => groups(service, readers, slow))),
    ...(await withService(installation, loads.leave, service => groups(service, leavers, leaveAtOnce))),
    ...(options.isWithoutLoad ? [] : await withService(installation, loads.full, fullLoad)),
  ]
  // A few callers are hardly visible next to what a collection leaves.
  return { figures, goals: options.isShort ? [] : goalsOf(figures) }
}

interface Service {
  chats: RunningSide
  upstream: MockUpstream
  state: () => Promise<ServerState>
  database: string
}

interface Outcome {
  /** All of them must be charged. */
  calls: number
  /** Output that the engine generated for them, if known. */
  tokens?: number
  figures: readonly (readonly [metric: string, value: number, digits?: number])[]
}

async function withService(
  installation: Installation,
  load: string,
  work: (service: Service) => Promise<Outcome>,
): Promise<Figure[]> {
  process.stderr.write(`${load}.\n`)
  const upstream = await MockUpstream.start()
  const states = join(installation.folder, 'states', load.replaceAll(/\W+/g, '-'))
  await mkdir(states, { recursive: true })
  const preload = new URL('kit/state-on-signal.ts', import.meta.url)
  preload.searchParams.set('folder', states)
  const nodeArgs = ['--expose-gc', '--import', preload.href]
  const order = { ...installation, name: side, folderName: load, upstreamPort: upstream.port, nodeArgs }
  const prepared = await prepareService(order)
  const server = await startService(order, prepared)
  let asked = 0
  const state = async (): Promise<ServerState> => {
    server.signal('SIGUSR2')
    const file = join(states, `${++asked}.json`)
    return JSON.parse(await untilThere(() => readFile(file, 'utf8').catch(() => null))) as ServerState
  }
  const { database } = dataFolder(prepared.data)
  const service = { chats: fareboxChats(server, prepared), upstream, state, database }
  try {
    await closedLoop(service.chats, 1, 500)
    await untilEnded(service)
    const before = countsOf(database)
    const { calls, tokens, figures } = await work(service)
    await untilEnded(service)
    const after = countsOf(database)
    const all: Outcome['figures'] = [
      ...figures,
      [metrics.sockets, upstream.open],
      [metrics.holds, after.holds],
      [metrics.charged, (after.charged - before.charged) / calls, 3],
      ...(tokens ? [[metrics.tokens, (after.tokens - before.tokens) / tokens, 3] as const] : []),
    ]
    return all.map(([metric, value, digits = 0]) => ({ load, side, metric, rounds: [value], digits }))
  } finally {
    await server.stop()
    await upstream.close()
  }
}

/** Reads the counts in a service's ledger, even while it runs. */
function countsOf(database: string): { holds: number; charged: number; tokens: number } {
  const reader = openForReading(database)
  const count = (sql: string) => Number(reader.prepare(sql).get()?.n)
  try {
    return {
      holds: count('SELECT count(*) AS n FROM hold'),
      charged: count("SELECT count(*) AS n FROM ended_hold WHERE how = 'captured'"),
      tokens: count("SELECT sum(units) AS n FROM entry WHERE sku LIKE 'chat.output%'"),
    }
  } finally {
    reader.close()
  }
}

/** Resolves once the engine is idle and every hold has ended, or at the deadline for that. */
function untilEnded({ upstream, database }: Pick<Service, 'upstream' | 'database'>): Promise<void> {
  return within(endsWithinMs, () => upstream.open === 0 && countsOf(database).holds === 0)
}

/** Resolves when the condition holds, or at the deadline. */
async function within(ms: number, isSo: () => boolean): Promise<void> {
  const endAt = performance.now() + ms
  while (performance.now() < endAt && !isSo()) await sleep(askEveryMs)
}

async function untilThere<Value>(look: () => Promise<Value | null>): Promise<Value> {
  for (;;) {
    const value = await look()
    if (value !== null) return value
    await sleep(askEveryMs)
  }
}

/** Compared with itself after a warm-up, in which code is compiled and caches fill. */
async function fullLoad(service: Service): Promise<Outcome> {
  const first = await loadFor(service, warmUpMs)
  await sleep(restMs)
  const before = await service.state()
  const second = await loadFor(service, loadMs)
  const { lateMs } = await service.state()
  await untilEnded(service)
  await sleep(restMs)
  const after = await service.state()
  return {
    calls: first.calls + second.calls,
    figures: [
      [metrics.requests, second.requestsPerSecond],
      [metrics.broken, first.broken + second.broken],
      [metrics.late, lateMs, 1],
      [metrics.resident, after.residentBytes / before.residentBytes, 2],
      [metrics.residentBefore, after.residentBeforeBytes / before.residentBeforeBytes, 2],
      [metrics.held, after.heldBytes / before.heldBytes, 2],
      [metrics.resources, moreOf(after.resources, before.resources)],
    ],
  }
}

function moreOf(now: ServerState['resources'], before: ServerState['resources']): number {
  return Object.entries(now).reduce((sum, [kind, count]) => sum + Math.max(0, count - (before[kind] ?? 0)), 0)
}

async function loadFor({ chats, upstream }: Service, forMs: number) {
  const endAt = performance.now() + forMs
  const streamed = async () => {
    const counts = { opened: 0, broken: 0 }
    do {
      const { broken } = await runStreams(chats, upstream, streams, streamMs / 2, streamMs)
      counts.opened += streams.streams
      counts.broken += broken
    } while (performance.now() < endAt)
    return counts
  }
  const [{ requests, requestsPerSecond }, { opened, broken }] = await Promise.all([
    closedLoop(chats, connections, forMs),
    streamed(),
  ])
  return { calls: requests + opened, requestsPerSecond, broken }
}

/** A group of callers: the service before and while they were there, and what the engine generated for them. */
interface Group {
  before: ServerState
  during: ServerState
  tokens?: number
}

/**
 * A smaller group goes first, for which code is compiled and the heap grows, because a caller does not cost that
 * memory.
 */
async function groups(
  service: Service,
  count: number,
  group: (service: Service, count: number) => Promise<Group>,
): Promise<Outcome> {
  const few = Math.ceil(count / 5)
  const first = await group(service, few)
  await untilEnded(service)
  const { before, during, tokens = 0 } = await group(service, count)
  return {
    calls: few + count,
    tokens: tokens + (first.tokens ?? 0),
    figures: [
      [metrics.memory, (during.heldBytes - before.heldBytes) / count / 1000],
      [metrics.grown, (during.residentBytes - before.residentBytes) / count / 1000],
    ],
  }
}

/** Callers of an endless stream that read it more slowly than it arrives, and leave in the end. */
function reading(how: (caller: Caller) => void) {
  return async (service: Service, count: number): Promise<Group> => {
    const { chats, upstream, state } = service
    const before = await state()
    const callers = await Promise.all(Array.from({ length: count }, () => Caller.open(chats.port)))
    for (const [place, caller] of callers.entries()) {
      how(caller)
      caller.sendOnly(chats.chat('Flood.', place, true))
    }
    await within(endsWithinMs, () => upstream.open === count)
    await sleep(readMs)
    const during = await state()
    if (upstream.open !== count) throw new Error(`${upstream.open} of ${count} streams were open while they were read.`)
    for (const caller of callers) caller.close()
    return { before, during }
  }
}

/**
 * In a short run the engine ends them soon after, with its usage; in a full one it continues until the service ends it.
 */
async function leaveAtOnce({ chats, upstream, state }: Service, count: number): Promise<Group> {
  upstream.startStreams(options.isShort ? 50 : 4)
  const before = await state()
  const callers: Caller[] = []
  const begun: Promise<void>[] = []
  for (let place = 0; place < count; place++) {
    const caller = await Caller.open(chats.port)
    callers.push(caller)
    const request = chats.chat(`Count the ticks. Stream ${place}.`, place, true)
    begun.push(new Promise((resolve, reject) => void caller.stream(request, () => resolve()).catch(reject)))
  }
  await Promise.all(begun)
  for (const caller of callers) caller.close()
  await sleep(leftMs)
  const during = await state()
  if (upstream.open === 0) throw new Error('The engine was ended with its callers, and could report no usage.')
  if (options.isShort) upstream.endStreams()
  await untilThere(async () => upstream.open === 0 || null)
  const made = upstream.sentAtMs.values().reduce((sum, sent) => sum + sent.length, 0)
  return { before, during, tokens: options.isShort ? count * tokensReported : made }
}

function goalsOf(figures: readonly Figure[]): Line[] {
  const of = (load: string, metric: string) =>
    figures.find(each => each.load === load && each.metric === metric)?.rounds[0] ?? Number.NaN
  const measured = Object.values(loads).filter(load => figures.some(each => each.load === load))
  const all = (metric: string) => measured.map(load => of(load, metric))
  const times = { digits: 2, unit: ' ×' }
  const memoryGoals = [loads.stopped, loads.slow, loads.leave].map(load => ({
    what: `objects and buffers of each of ${load}`,
    value: of(load, metrics.memory),
    atMost: 256,
    unit: ' kB',
  }))
  const loadGoals = [
    { what: 'resident memory after the load', value: of(loads.full, metrics.resident), atMost: 1.2, ...times },
    { what: 'resources left by the load', value: of(loads.full, metrics.resources), atMost: 0 },
    { what: 'event loop delay p99.9 under load', value: of(loads.full, metrics.late), atMost: 50, unit: ' ms' },
  ]
  return [
    ...(options.isWithoutLoad ? [] : loadGoals),
    ...memoryGoals,
    { what: 'connections to the engine left, at most', value: Math.max(...all(metrics.sockets)), atMost: 0 },
    { what: 'holds left, at most', value: Math.max(...all(metrics.holds)), atMost: 0 },
    { what: 'calls charged, at least', value: Math.min(...all(metrics.charged)), atLeast: 1, ...times },
    { what: 'calls charged, at most', value: Math.max(...all(metrics.charged)), atMost: 1, ...times },
  ]
}
