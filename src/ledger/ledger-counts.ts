import { sql } from 'kysely'
import { type Outcome, type Store, StoreError } from './store/store.ts'
import type { EntryTable } from './store/tables.ts'
import { entryRefs, type Op, type Unit } from './store/units.ts'

/** Charges for one model, or for products without a model, such as a web search. Amounts are micro-USD. */
export interface ModelCounts {
  requests: number
  charged: bigint
  writtenOff: bigint
  refunded: bigint
  /** Paid by staking credit, and how much of that was returned by refunds. */
  staked: bigint
  stakeReturned: bigint
  /** Keys are SKUs. */
  units: Map<string, bigint>
}

export interface CustomerCounts {
  requests: number
  charged: bigint
}

export interface Counts {
  /** Keys are model ids; empty for products without a model. */
  models: ReadonlyMap<string, ModelCounts>
  /** Keys are account ids, for the customers that are counted separately. */
  customers: ReadonlyMap<string, CustomerCounts>
  toppedUp: bigint
  granted: bigint
}

interface LedgerCountsOptions {
  /** How many customers are counted separately; the others share `otherCustomers`. */
  customers?: number
  /** Whether staking credit pays for calls. */
  hasStaking?: boolean
}

/** The customers beyond the limit, counted together. */
export const otherCustomers = 'other'

/**
 * Counts what this process writes to the ledger, each unit once, so that the sum over all processes covers all new
 * entries. Values that a unit does not contain, such as the amount of a refund, are read from its entries.
 */
export class LedgerCounts {
  readonly #options: Required<LedgerCountsOptions>
  readonly #models = new Map<string, ModelCounts>()
  readonly #customers = new Map<string, CustomerCounts>()
  #toppedUp = 0n
  #granted = 0n
  #store: Pick<Store, 'read'> | null = null
  /**
   * Our units with unknown outcome: if they are repeated, they return the first outcome, which has not been counted
   * yet.
   */
  readonly #unsure = new Set<string>()
  /** Refs of entries to be read. */
  readonly #unread = new Set<string>()
  readonly #unreadRanges: { after: number; to: number }[] = []
  #reading: Promise<void> | null = null

  constructor({ customers = 0, hasStaking = false }: LedgerCountsOptions = {}) {
    this.#options = { customers, hasStaking }
  }

  /** Wraps a store so that its units are counted. */
  around(store: Store): Store {
    this.#store = store
    const { endHoldsOfOthers, clockDifferenceMs, balances } = store
    return {
      read: store.read,
      soleOwner: store.soleOwner,
      prune: (slice, rows) => store.prune(slice, rows),
      close: () => store.close(),
      commit: units => this.#commit(store, units),
      ...(balances ? { balances } : {}),
      ...(clockDifferenceMs ? { clockDifferenceMs: clockDifferenceMs.bind(store) } : {}),
      ...(endHoldsOfOthers ? { endHoldsOfOthers: (owner, atMs) => this.#endHoldsOfOthers(store, owner, atMs) } : {}),
    }
  }

  /** Rejects if pending entries cannot be read. */
  async now(): Promise<Counts> {
    await this.#read()
    const { models, customers } = { models: this.#models, customers: this.#customers }
    return { models, customers, toppedUp: this.#toppedUp, granted: this.#granted }
  }

  async #commit(store: Store, units: readonly Unit[]): Promise<Outcome[]> {
    const outcomes = await store.commit(units).catch(error => {
      if (error instanceof StoreError && error.kind === 'outcome_unknown') this.#doubt(units)
      throw error
    })
    for (const [index, unit] of units.entries()) {
      const outcome = outcomes[index]
      const isUnsure = this.#unsure.delete(unit.id)
      if (!outcome?.ok || (outcome.again && !isUnsure)) continue
      for (const op of unit.ops) this.#count(op, outcome.balances[0]?.account ?? '')
    }
    if (this.#unread.size >= readAtOnce) this.#read().catch(() => undefined)
    return outcomes
  }

  #doubt(units: readonly Unit[]): void {
    for (const { id, ops } of units) {
      if (this.#unsure.size >= mostUnsure) return
      if (ops.some(({ op }) => op === 'capture' || op === 'credit' || op === 'refund')) this.#unsure.add(id)
    }
  }

  /** The store itself ends the holds of a dead process, so they are counted from the entries. */
  async #endHoldsOfOthers(store: Store, owner: string, atMs: number): Promise<number> {
    const newest = async () => {
      const row = await store.read
        .selectFrom('entry')
        .select(({ fn }) => fn.max('seq').as('seq'))
        .executeTakeFirst()
      return Number(row?.seq ?? 0)
    }
    const after = await newest()
    const ended = (await store.endHoldsOfOthers?.(owner, atMs)) ?? 0
    const to = ended ? await newest() : after
    if (to > after) this.#unreadRanges.push({ after, to })
    return ended
  }

  #count(op: Op, account: string): void {
    if (op.op === 'credit') {
      this.#add({ kind: op.source === 'system:grant' ? 'GRANT' : 'TOP_UP', account, amount_usd: op.amount })
    } else if (op.op === 'refund') {
      this.#unread.add(entryRefs.refund(op.request))
      if (this.#options.hasStaking) this.#unread.add(entryRefs.stakingBack(op.request))
    } else if (op.op === 'capture' && op.lines.length) {
      const { model, lines, writeOff = 0n } = op
      for (const { sku, units, amount } of lines)
        this.#add({ kind: 'CHARGE', account, model, sku, units_usd: units, amount_usd: amount, requests: 0 })
      this.#add({ kind: 'CHARGE', account, model, amount_usd: 0n, requests: 1 })
      if (writeOff) this.#add({ kind: 'WRITE_OFF', account, model, amount_usd: writeOff })
      if (this.#options.hasStaking) this.#unread.add(entryRefs.staking(op.request))
    }
  }

  #add({ kind, account, debit, model, sku, units_usd: units, amount_usd: amount, requests = 0 }: Sum): void {
    if (kind === 'TOP_UP') this.#toppedUp += amount
    if (kind === 'GRANT') this.#granted += amount
    if (kind === 'TOP_UP' || kind === 'GRANT') return
    const counts = getOrAdd(this.#models, model ?? '', newModel)
    if (kind === 'REFUND') counts.refunded += amount
    if (kind === 'WRITE_OFF') counts.writtenOff += amount
    if (kind === 'STAKING' && debit === account) counts.stakeReturned += amount
    if (kind === 'STAKING' && debit !== account) counts.staked += amount
    if (kind !== 'CHARGE') return
    counts.charged += amount
    counts.requests += requests
    if (sku) counts.units.set(sku, (counts.units.get(sku) ?? 0n) + (units ?? 0n))
    if (!this.#options.customers) return
    const customer = this.#customerOf(account)
    customer.charged += amount
    customer.requests += requests
  }

  #customerOf(account: string): CustomerCounts {
    const isApart = this.#customers.has(account) || this.#customers.size < this.#options.customers
    return getOrAdd(this.#customers, isApart ? account : otherCustomers, () => ({ requests: 0, charged: 0n }))
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  /** Entries that cannot be read now are read the next time. */
  async #readAll(): Promise<void> {
    for (let range = this.#unreadRanges[0]; range; range = this.#unreadRanges[0]) {
      const { after, to } = range
      const rows = await this.#sums()?.where('seq', '>', after).where('seq', '<=', to).execute()
      this.#unreadRanges.shift()
      for (const row of rows ?? []) this.#add(row)
    }
    while (this.#unread.size) {
      const refs = [...this.#unread].slice(0, readAtOnce)
      const rows = await this.#sums()?.where('ref', 'in', refs).execute()
      for (const ref of refs) this.#unread.delete(ref)
      for (const row of rows ?? []) this.#add(row)
    }
  }

  #sums() {
    return this.#store?.read
      .selectFrom('entry')
      .select([
        ...(['kind', 'account', 'debit', 'model', 'sku'] as const),
        sql<bigint>`CAST(coalesce(sum(units), 0) AS BIGINT)`.as('units_usd'),
        sql<bigint>`CAST(sum(amount) AS BIGINT)`.as('amount_usd'),
        sql<number>`CAST(sum(CASE line WHEN 0 THEN 1 ELSE 0 END) AS BIGINT)`.as('requests'),
      ])
      .groupBy(['kind', 'account', 'debit', 'model', 'sku'])
  }
}

/** Entries of one kind, account, model and SKU. */
interface Sum {
  kind: EntryTable['kind']
  account: string
  debit?: string
  model?: string | null
  sku?: string | null
  /** Named as a column whose integers are bigints. */
  units_usd?: bigint
  amount_usd: bigint
  requests?: number
}

const amounts = { charged: 0n, writtenOff: 0n, refunded: 0n, staked: 0n, stakeReturned: 0n }

/** The counts of a model without charges. */
export const noCounts: Readonly<ModelCounts> = { requests: 0, ...amounts, units: new Map() }

const newModel = (): ModelCounts => ({ ...noCounts, units: new Map() })

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** Refs in one statement. */
const readAtOnce = 500

/** How many units with unknown outcome are remembered: more than can wait during one outage. */
const mostUnsure = 100_000
