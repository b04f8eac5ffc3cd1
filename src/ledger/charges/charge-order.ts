import { type MicroUsd, toUsdNumber, zeroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import type { Principal } from '../accounts/principal.ts'
import type { Refusal, Store } from '../store/store.ts'
import type { Op } from '../store/units.ts'
import type { Funding } from './funding.ts'

/** What a paid call reserves before its engine is called. */
export interface ChargeOrder {
  /** A UUIDv7: no request is charged twice. */
  request: string
  /** A UUIDv7 that identifies the hold; the request's id by default. It differs if a request is resumed. */
  holdId?: string
  principal: Principal
  model: string | null
  amount: MicroUsd
  /** How far the hold may be extended; not at all if absent. */
  most?: MicroUsd
}

/** The id of the hold that the order takes. */
export const holdOf = ({ request, holdId }: ChargeOrder): string => holdId ?? request

/** The cost of a request, by the currency that pays. */
export interface Cost {
  usd: MicroUsd
  staking: MicroUsd
}

export const noCost: Cost = { usd: zeroUsd, staking: zeroUsd }

export interface Charged extends Cost {
  /** Null if this end of a call did not report it. */
  availableMicroUsd: MicroUsd | null
}

/** The cost as the contract's answers show it. */
export const printedCost = ({ usd, staking }: Cost) => ({ usd: toUsdNumber(usd), diem: toUsdNumber(staking) })

/** Operations for the commit that ends a hold, once the cost of the request is known. */
export type AlsoCommit = (cost: Cost) => readonly Op[] | Promise<readonly Op[]>

/**
 * Thrown if the operations that were to be committed with the end of the hold were refused. The hold has ended, and
 * only what was delivered is charged.
 */
export class AlsoCommitRefused extends Error {
  readonly why: Refusal

  constructor(why: Refusal) {
    super(`The operations to commit with the end of a hold were refused: ${why}.`)
    this.name = 'AlsoCommitRefused'
    this.why = why
  }
}

export interface ChargeParts {
  store: Store
  clock: Clock
  owner: string
  funding: Funding
  onWriteOff(order: ChargeOrder, amount: MicroUsd): void
  /** Another process ended a call's hold before the call ended it; part of the call's cost may be lost. */
  onHoldLost?: (order: ChargeOrder, cost: { totalMicroUsd: MicroUsd; lostMicroUsd: MicroUsd }) => void
  /** A failure for which no caller waits: work did not report its cost, or holds were not renewed. */
  onFailure?: (error: unknown) => void
}
