import { Counter, type Registry } from 'prom-client'
import { type LedgerCounts, type ModelCounts, noCounts } from '#ledger/ledger-counts.ts'
import type { Catalogue } from '../models/catalogue.ts'
import type { Model } from '../models/model.ts'

export interface MoneySources {
  catalogue: Pick<Catalogue, 'models'>
  counts: Pick<LedgerCounts, 'now'>
}

/** Charges and payments that this process wrote to the ledger. Amounts are whole micro-USD. */
export class MoneyMetrics {
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
