import { minuteMs } from '#contract/time.ts'
import type { LiveFigures, RecentRequest, TimedRow } from '#pages/console/wire.ts'

/** About 3 MB of requests: at ten a second, the last quarter of an hour. */
const keptRequests = 10_000

/** The period that the console calls live. */
const liveMs = 15 * minuteMs

const shownFailures = 50

/** Models and customers that are shown. Each process reports as many, and the most used are chosen from all of them. */
const shownGroups = 10
const countedGroups = 50

/** A finished request as the service reports it. */
interface EndedRequest {
  requestId: string
  operation: string
  status: number
  ms: number
  account: string | null
  /** The full account id; null for an unidentified caller. */
  customer: string | null
  model: string | null
  /** The last engine that handled the request; null if none did. */
  engine: string | null
}

type Kept = EndedRequest & { atMs: number }

/** Requests by duration, in milliseconds rounded to two digits, so that counts of several processes can be added. */
interface Counts {
  requests: number
  failed: number
  refused: number
  times: Record<string, number>
}

/** Requests that one process answered. Processes exchange it as JSON. */
export interface RecentSummary {
  all: Counts
  models: [name: string, counts: Counts][]
  customers: [id: string, counts: Counts][]
  failures: RecentRequest[]
}

const noCounts = (): Counts => ({ requests: 0, failed: 0, refused: 0, times: {} })

/** The latest requests of this process, only for the console. The ledger has the charges. */
export class RecentRequests {
  readonly #kept: Kept[] = []
  #next = 0

  add({ requestId, operation, status, ms, account, customer, model, engine }: EndedRequest, atMs: number): void {
    this.#kept[this.#next] = { requestId, operation, status, ms, account, customer, model, engine, atMs }
    this.#next = (this.#next + 1) % keptRequests
  }

  /** Null if the request is no longer stored, or another process answered it. */
  find(request: string): RecentRequest | null {
    const found = this.#kept.find(({ requestId }) => requestId === request)
    return found ? shownRequest(found) : null
  }

  summary(nowMs: number): RecentSummary {
    const sinceMs = nowMs - liveMs
    // Probes and pages do not count as use. Names of the API's operations contain no slash.
    const live = this.#kept.filter(({ atMs, operation }) => atMs >= sinceMs && !operation.startsWith('/'))
    const [all, models, customers] = [noCounts(), new Map<string, Counts>(), new Map<string, Counts>()]
    for (const request of live) {
      count(all, request)
      if (request.model !== null) count(groupOf(models, request.model), request)
      if (request.customer !== null) count(groupOf(customers, request.customer), request)
    }
    const failures = latest([...live.filter(isFailed), ...live.filter(isRefused)].map(shownRequest))
    return { all, models: mostUsed(models, countedGroups), customers: mostUsed(customers, countedGroups), failures }
  }
}

/** Adds up the requests that several processes answered. */
export function liveFigures(summaries: readonly RecentSummary[], processes: number): LiveFigures {
  const { requests, failed, refused, p50Ms, p95Ms } = timed(added(summaries.map(({ all }) => all)))
  const groups = (of: 'models' | 'customers'): [string, TimedRow][] => {
    const byName = Map.groupBy(
      summaries.flatMap(summary => summary[of]),
      ([name]) => name,
    )
    const sums = new Map([...byName].map(([name, parts]) => [name, added(parts.map(([, counts]) => counts))]))
    return mostUsed(sums, shownGroups).map(([name, counts]) => [name, timed(counts)])
  }
  return {
    minutes: liveMs / minuteMs,
    processes: { answered: summaries.length, of: processes },
    ...{ requests, failed, refused, p50Ms, p95Ms },
    byModel: groups('models').map(([model, row]) => ({ model, ...row })),
    byCustomer: groups('customers').map(([customer, row]) => ({ customer, name: null, ...row })),
    failures: latest(summaries.flatMap(({ failures }) => failures)),
  }
}

const latest = (failures: readonly RecentRequest[]): RecentRequest[] =>
  failures.toSorted((one, other) => other.atMs - one.atMs).slice(0, shownFailures)

const shownRequest = ({ requestId, ...rest }: Kept): RecentRequest => ({ request: requestId, ...rest })

function groupOf(groups: Map<string, Counts>, name: string): Counts {
  const known = groups.get(name) ?? noCounts()
  groups.set(name, known)
  return known
}

function count(counts: Counts, request: Kept): void {
  counts.requests++
  if (isFailed(request)) counts.failed++
  if (isRefused(request)) counts.refused++
  const ms = Number(request.ms.toPrecision(2))
  counts.times[ms] = (counts.times[ms] ?? 0) + 1
}

const mostUsed = (groups: ReadonlyMap<string, Counts>, most: number): [string, Counts][] =>
  [...groups].sort(([, one], [, other]) => other.requests - one.requests).slice(0, most)

function added(parts: readonly Counts[]): Counts {
  const sum = noCounts()
  for (const { requests, failed, refused, times } of parts) {
    sum.requests += requests
    sum.failed += failed
    sum.refused += refused
    for (const [ms, n] of Object.entries(times)) sum.times[ms] = (sum.times[ms] ?? 0) + n
  }
  return sum
}

function timed({ requests, failed, refused, times }: Counts): TimedRow {
  const sorted = Object.entries(times)
    .map(([ms, n]) => [Number(ms), n] as const)
    .sort(([one], [other]) => one - other)
  const within = (share: number): number | null => {
    let left = Math.floor(requests * share)
    for (const [ms, n] of sorted) {
      if (left < n) return ms
      left -= n
    }
    return sorted.at(-1)?.[0] ?? null
  }
  return { requests, failed, refused, p50Ms: within(0.5), p95Ms: within(0.95) }
}

/** Failures of the service or its engines. */
const isFailed = ({ status }: Kept): boolean => status >= 500

/** Refusals because of the caller; a 402 only asks for payment. */
const isRefused = ({ status }: Kept): boolean => status >= 400 && status < 500 && status !== 402
