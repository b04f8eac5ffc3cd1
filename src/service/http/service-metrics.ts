import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { HealthState } from '#engines/upstreams/upstream-health.ts'
import { type LedgerCounts, type ModelCounts, noCounts } from '#ledger/ledger-counts.ts'
import type { LedgerState } from '#ledger/ledger-watch.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Catalogue } from '../models/catalogue.ts'
import type { Model } from '../models/model.ts'
import type { EndedRequest } from './exchange.ts'

/** How long a scrape waits for the ledger; scrapers give up after ten seconds. */
const ledgerPatienceMs = 2_000

/** Buckets of request durations, in seconds: from a read to a long chat. */
const secondsBuckets = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

export interface MetricsSources extends MoneySources {
  catalogue: Pick<Catalogue, 'models'>
  store: Pick<Store, 'read'>
  ledger: { state(): Promise<LedgerState> }
}

const healthStates: readonly HealthState[] = ['up', 'trial', 'down']

/**
 * The service's metrics in Prometheus' text format. No label contains a key or a prompt, nor a customer unless the
 * operator enables that.
 */
export class ServiceMetrics {
  readonly #registry = new Registry()
  readonly #sources: MetricsSources
  readonly #requests: Counter<'operation' | 'status'>
  readonly #seconds: Histogram<'operation'>
  readonly #retries: Counter<'operation'>
  readonly #gauges: ReturnType<typeof gaugesOf>
  readonly #money: MoneyMetrics

  constructor(sources: MetricsSources) {
    const registers = [this.#registry]
    this.#sources = sources
    this.#requests = new Counter({
      ...{ name: 'farebox_requests_total', help: 'Finished requests.', registers },
      labelNames: ['operation', 'status'],
    })
    this.#seconds = new Histogram({
      ...{ name: 'farebox_request_seconds', help: 'From a request to the last byte of its answer.', registers },
      ...{ labelNames: ['operation'], buckets: secondsBuckets },
    })
    this.#retries = new Counter({
      ...{ name: 'farebox_upstream_retries_total', help: 'Attempts at upstreams beyond the first.', registers },
      labelNames: ['operation'],
    })
    this.#gauges = gaugesOf(registers)
    this.#money = new MoneyMetrics(sources, registers)
    collectDefaultMetrics({ register: this.#registry })
  }

  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE

  observe({ operation, status, ms, retries }: EndedRequest): void {
    this.#requests.inc({ operation, status })
    this.#seconds.observe({ operation }, ms / 1000)
    if (retries) this.#retries.inc({ operation }, retries)
  }

  /** Returns the current metrics. A ledger that does not answer is reported as such, and its metrics are left out. */
  async text(): Promise<string> {
    this.#readUpstreams()
    await this.#readBooks()
    return this.#registry.metrics()
  }

  #readUpstreams(): void {
    const { state, running, calls, failures, waiting } = this.#gauges
    for (const each of [state, running, calls, failures, waiting]) each.reset()
    for (const { id: model, upstreams } of this.#sources.catalogue.models) {
      if (!upstreams) continue
      waiting.set({ model }, upstreams.waiting())
      for (const upstream of upstreams.states()) {
        const labels = { model, upstream: upstream.name }
        for (const each of healthStates) state.set({ ...labels, state: each }, Number(upstream.state === each))
        running.set(labels, upstream.running)
        calls.inc(labels, upstream.calls)
        for (const [kind, count] of Object.entries(upstream.failures)) failures.inc({ ...labels, kind }, count)
      }
    }
  }

  async #readBooks(): Promise<void> {
    const { ledgerUp, ledgerOpen, holds, heldUsd, payments, jobs } = this.#gauges
    for (const each of [ledgerOpen, holds, heldUsd, payments, jobs]) each.reset()
    const [figures] = await Promise.all([
      within(this.#figures(), ledgerPatienceMs),
      within(this.#money.read(), ledgerPatienceMs),
    ])
    ledgerUp.set(figures ? 1 : 0)
    if (!figures) return
    ledgerOpen.set(figures.ledger === 'open' ? 1 : 0)
    holds.set(figures.holds)
    heldUsd.set(figures.heldUsd)
    for (const { state, count } of figures.payments) payments.set({ state }, count)
    for (const { state, count } of figures.jobs) jobs.set({ state }, count)
  }

  async #figures() {
    const { ledger, store } = this.#sources
    const count = (table: 'payment' | 'job') =>
      store.read
        .selectFrom(table)
        .select(({ fn }) => ['state', fn.countAll().as('count')])
        .groupBy('state')
        .execute()
    const [{ state }, held, payments, jobs] = await Promise.all([
      ledger.state(),
      store.read
        .selectFrom('hold')
        .select(({ fn }) => [fn.countAll().as('count'), fn.sum('amount').as('amount')])
        .executeTakeFirst(),
      count('payment'),
      count('job'),
    ])
    const counted = (rows: { state: string; count: unknown }[]) =>
      rows.map(row => ({ state: row.state, count: Number(row.count) }))
    return {
      ledger: state,
      holds: Number(held?.count ?? 0),
      // For a chart, never for the ledger, so a float is precise enough.
      heldUsd: Number(held?.amount ?? 0) / 1e6,
      payments: counted(payments),
      jobs: counted(jobs),
    }
  }
}

function gaugesOf(registers: Registry[]) {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name: `farebox_${name}`, help, registers, labelNames })
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name: `farebox_${name}`, help, registers, labelNames })
  return {
    state: gauge(
      'upstream_state',
      '1 for the current state of an upstream, 0 for the others.',
      'model',
      'upstream',
      'state',
    ),
    running: gauge('upstream_running', 'Calls in flight at an upstream.', 'model', 'upstream'),
    calls: counter('upstream_calls_total', 'Calls sent to an upstream.', 'model', 'upstream'),
    failures: counter(
      'upstream_failures_total',
      'Failed calls at an upstream.',
      ...(['model', 'upstream', 'kind'] as const),
    ),
    waiting: gauge('model_waiting', 'Calls waiting for a free upstream.', 'model'),
    ledgerUp: gauge('ledger_up', 'Whether the ledger answers.'),
    ledgerOpen: gauge('ledger_open', 'Whether the ledger accepts new debits.'),
    holds: gauge('holds', 'Holds of running calls.'),
    heldUsd: gauge('held_usd', 'USD on hold.'),
    payments: gauge('top_ups', 'Top-up payments in the ledger, by state.', 'state'),
    jobs: gauge('jobs', 'Queued jobs in the ledger, by state.', 'state'),
  }
}

/** Returns null if it fails, or takes longer than a scrape waits. */
async function within<Value>(work: Promise<Value>, timeoutMs: number): Promise<Value | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), timeoutMs)
  try {
    return await Promise.race([work.catch(() => null), late])
  } finally {
    clearTimeout(timer)
  }
}

interface MoneySources {
  catalogue: Pick<Catalogue, 'models'>
  counts: Pick<LedgerCounts, 'now'>
}

/** Charges and payments that this process wrote to the ledger. Amounts are whole micro-USD. */
class MoneyMetrics {
  readonly #sources: MoneySources
  readonly #counters: ReturnType<typeof countersOf>
  /** Includes models that are no longer sold, because their counters continue. */
  readonly #engines = new Map<string, string>()

  constructor(sources: MoneySources, registers: Registry[]) {
    this.#sources = sources
    this.#counters = countersOf(registers)
  }

  /** If the ledger does not answer, rejects and keeps the last figures. */
  async read(): Promise<void> {
    const { models, customers, toppedUp, granted } = await this.#sources.counts.now()
    const { catalogue } = this.#sources
    for (const { id, engineName } of catalogue.models) this.#engines.set(id, engineName)
    const counters = this.#counters
    for (const counter of Object.values(counters)) counter.reset()
    counters.toppedUp.inc(Number(toppedUp))
    counters.granted.inc(Number(granted))
    // Starts at 0, because Prometheus does not count the first value of a series as an increase.
    for (const { id, type } of catalogue.models) this.#startAtZero(id, tokenTypes[type] ?? [])
    for (const [model, counts] of models) this.#add(model, counts)
    for (const [customer, counts] of customers) {
      counters.customerRequests.inc({ customer }, counts.requests)
      counters.customerCharged.inc({ customer }, Number(counts.charged))
    }
  }

  #startAtZero(model: string, types: readonly string[]): void {
    this.#add(model, noCounts)
    for (const type of types) this.#counters.tokens.inc({ ...this.#labelsOf(model), type }, 0)
  }

  #add(model: string, counts: ModelCounts): void {
    const counters = this.#counters
    const labels = this.#labelsOf(model)
    counters.requests.inc(labels, counts.requests)
    counters.charged.inc(labels, Number(counts.charged))
    counters.writtenOff.inc(labels, Number(counts.writtenOff))
    counters.refunded.inc(labels, Number(counts.refunded))
    counters.staked.inc(labels, Number(counts.staked))
    counters.stakeReturned.inc(labels, Number(counts.stakeReturned))
    for (const [sku, units] of counts.units) {
      const type = tokensOf(sku)
      if (type === null) counters.units.inc({ ...labels, sku }, Number(units))
      else counters.tokens.inc({ ...labels, type }, Number(units))
    }
  }

  #labelsOf(model: string) {
    return { model, engine: this.#engines.get(model) ?? '' }
  }
}

/** Which tokens a model of a type always charges. */
const tokenTypes: Readonly<Partial<Record<Model['type'], readonly string[]>>> = {
  text: ['input', 'output'],
  embedding: ['input'],
}

/** Which tokens a SKU counts; null for other units, such as images and seconds. */
function tokensOf(sku: string): string | null {
  const match = /^(?:chat|chat\.search|embedding)\.(input|output)(?:\.(cached|cache_write))?(?:\.estimated)?$/.exec(sku)
  return match && (match[2] ? `${match[1]}_${match[2]}` : (match[1] ?? null))
}

function countersOf(registers: Registry[]) {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name: `farebox_${name}_total`, help, registers, labelNames })
  const sold = ['model', 'engine'] as const
  return {
    requests: counter('charged_requests', 'Requests that were charged.', ...sold),
    tokens: counter('tokens', 'Charged tokens.', ...sold, 'type'),
    units: counter('units', 'Charged units other than tokens, such as images and seconds.', ...sold, 'sku'),
    charged: counter('charged_micro_usd', 'Charges, in micro-USD.', ...sold),
    writtenOff: counter('written_off_micro_usd', 'The part of charges that was written off, in micro-USD.', ...sold),
    refunded: counter('refunded_micro_usd', 'Refunded charges, in micro-USD.', ...sold),
    staked: counter('staking_micro_usd', 'The part of charges that staking credit paid, in micro-USD.', ...sold),
    stakeReturned: counter(
      'staking_returned_micro_usd',
      'Staking credit that refunds returned, in micro-USD.',
      ...sold,
    ),
    toppedUp: counter('topped_up_micro_usd', 'Credited top-ups, in micro-USD.'),
    granted: counter('granted_micro_usd', 'Credit that the operator gave, in micro-USD.'),
    customerRequests: counter('customer_requests', 'Charged requests of a customer.', 'customer'),
    customerCharged: counter('customer_charged_micro_usd', 'Charges of a customer, in micro-USD.', 'customer'),
  }
}
