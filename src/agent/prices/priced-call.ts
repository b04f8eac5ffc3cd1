import type { Client } from '#client/client.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { ModelRecords } from './model-records.ts'

export interface PricedCall {
  /** What would be bought, in our words. */
  what: string
  /** What it costs, or the most that it can cost; null where that cannot be said beforehand. */
  amountMicroUsd: MicroUsd | null
}

/** What prices are read from. */
export interface PriceSources {
  client: Client
  models: ModelRecords
}

/** Prices one operation's calls. `body` has passed the operation's schema, or is what our own code writes. */
export type Pricer = (sources: PriceSources, body: unknown) => Promise<PricedCall>
