import { sql } from 'kysely'
import { accessDisabled, authenticationFailed, ledgerReadOnly } from '#contract/errors/errors.ts'
import type { KeyLimitReached } from '#contract/errors/failures.ts'
import { tooManyInFlight } from '#contract/errors/retry-after.ts'
import { walletConcurrency } from '#contract/limits.ts'
import { addUsd, type MicroUsd, microUsd, toUsdNumber, zeroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { balanceOf } from '../accounts/balances.ts'
import { isSuspended, openWalletAccount } from '../accounts/customers.ts'
import { budgetLeft, nextPeriodMs, periodStarts } from '../accounts/keys.ts'
import type { Principal } from '../accounts/principal.ts'
import type { StakingCredits } from '../accounts/staking.ts'
import type { KeyBudget } from '../store/account-ops.ts'
import { type Refusal, type Store, StoreError } from '../store/store.ts'
import type { Hold, Lease, Op, StakingDay } from '../store/units.ts'

/** What a caller can pay with at this moment. It may be less a moment later: only the hold decides. */
export interface Spendable {
  /** The account's own available credit. */
  usd: MicroUsd
  /** What is left of today's staking credit; null if the service gives none. */
  staking: MicroUsd | null
  /** How much of both the key's own budget allows. */
  within: { usd: MicroUsd; staking: MicroUsd }
}

export const totalOf = ({ within }: Spendable): MicroUsd => addUsd(within.usd, within.staking)

interface HoldOrder {
  hold: string
  principal: Principal
  amount: MicroUsd
}

/** Where the money of a call comes from: staking credit first, then USD, both within what the key may spend. */
export class Funding {
  readonly #store: Store
  readonly #clock: Clock
  readonly #staking: StakingCredits | null

  constructor(options: { store: Store; clock: Clock; staking?: StakingCredits | null }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#staking = options.staking ?? null
  }

  /** Whether the service gives staking credit at all. */
  get hasStaking(): boolean {
    return this.#staking !== null
  }

  /** Returns all of today's staking credit of the caller, used or not; null if the service gives none. */
  async stakingToday(principal: Principal): Promise<MicroUsd | null> {
    if (!this.#staking) return null
    return (await this.#staking.today(principal))?.granted ?? zeroUsd
  }

  async spendable(principal: Principal): Promise<Spendable> {
    const budget = budgetOf(principal)
    if (!budget && !this.#staking) {
      const { availableMicroUsd: usd } = await balanceOf(this.#store, principal.account)
      return { usd, staking: null, within: { usd, staking: zeroUsd } }
    }
    const [{ availableMicroUsd: usd }, staking, left] = await Promise.all([
      balanceOf(this.#store, principal.account),
      this.#staking?.left(principal) ?? null,
      budget && principal.kind === 'key'
        ? budgetLeft(this.#store, principal.keyId, budget, this.#clock.now())
        : { usd: null, staking: null },
    ])
    return { usd, staking, within: { usd: atMost(left.usd, usd), staking: atMost(left.staking, staking ?? zeroUsd) } }
  }

  /** Not for paid calls, because the hold decides on those. */
  isSuspended(account: string): Promise<boolean> {
    return isSuspended(this.#store, account)
  }

  /** Returns how much is left of one limit of a key's budget, and when it resets, for a 402. */
  async keyLimit(principal: Principal, limit: 'usd' | 'staking'): Promise<KeyLimitReached['budget']> {
    if (principal.kind !== 'key' || !principal.budget) return undefined
    const { keyId, budget } = principal
    const most = budget[limit]
    if (most === null) return undefined
    const atMs = this.#clock.now()
    const left = (await budgetLeft(this.#store, keyId, budget, atMs))[limit] ?? zeroUsd
    const nextMs = nextPeriodMs(budget.period, atMs)
    return {
      currency: limit === 'usd' ? 'USD' : 'DIEM',
      period: budget.period,
      limit: toUsdNumber(most),
      left: toUsdNumber(left),
      startsAnewAt: nextMs === null ? null : new Date(nextMs).toISOString(),
    }
  }

  /** Returns the operations that take the hold. A wallet with only staking credit gets its account with them. */
  async holdOps({ hold, principal, amount }: HoldOrder, lease: Lease): Promise<Op[]> {
    const staking = (await this.#staking?.today(principal)) ?? null
    // After the chain has answered, so that both belong to the same day.
    const atMs = this.#clock.now()
    const isKey = principal.kind === 'key'
    const taken: Hold = {
      op: 'hold',
      hold,
      account: principal.account,
      amount,
      lease,
      key: isKey ? { key: principal.keyId, ...periodStarts(atMs) } : null,
      staking,
      mostOpen: isKey ? null : walletConcurrency,
      atMs,
    }
    return [...openingOps(principal, staking, atMs), taken]
  }

  /** Returns the error that answers a refused hold. */
  async refusal({ principal, amount, hold }: HoldOrder, why: Refusal): Promise<Error> {
    switch (why) {
      case 'no_account':
        return new InsufficientCredit(amount)
      case 'insufficient_funds':
        return shortage(await this.spendable(principal), amount)
      case 'over_budget':
        return new OverBudget('usd', amount)
      case 'no_key':
        // Another process revoked it a moment ago.
        return authenticationFailed()
      case 'too_many_open':
        return tooManyInFlight(this.#clock.now())
      case 'suspended':
        return accessDisabled()
      case 'read_only':
        return ledgerReadOnly()
      default:
        return new Error(`The ledger refused hold ${hold}: ${why}.`)
    }
  }
}

/** Explains why `needed` is not available: the credit is too low, or a limit of the key is reached. */
export function shortage({ usd, staking, within }: Spendable, needed: MicroUsd): InsufficientCredit | OverBudget {
  const all = staking ?? zeroUsd
  if (usd + all < needed || totalOf({ usd, staking, within }) >= needed) return new InsufficientCredit(needed)
  return new OverBudget(within.usd + all >= needed ? 'staking' : 'usd', needed)
}

const budgetOf = (principal: Principal): KeyBudget | null =>
  principal.kind === 'key' ? (principal.budget ?? null) : null

const openingOps = (principal: Principal, staking: StakingDay | null, atMs: number): Op[] =>
  principal.kind === 'wallet' && principal.isNew && staking ? openWalletAccount(principal.wallet, atMs) : []

const atMost = (limit: MicroUsd | null, amount: MicroUsd): MicroUsd =>
  limit !== null && limit < amount ? limit : amount

/**
 * Returns how much further an open hold may be extended. It uses the hold's own day of staking credit and its own
 * period of the key's budget, whatever day it is now, within both the limits when it was opened and its key's current
 * ones. Another call may use the credit first: only the extension decides.
 */
export async function leftForHold(store: Store, hold: string): Promise<MicroUsd> {
  const row = await store.read
    .selectFrom('hold as h')
    .innerJoin('account as a', 'a.id', 'h.account')
    .leftJoin('staking_credit as s', join =>
      join.onRef('s.account', '=', 'h.account').onRef('s.day_ms', '=', 'h.staking_day_ms'),
    )
    .leftJoin('api_key as k', 'k.id', 'h.api_key')
    .leftJoin('key_use as u', join =>
      join
        .onRef('u.key', '=', 'h.api_key')
        .onRef('u.period', '=', 'h.budget_period')
        .onRef('u.start_ms', '=', 'h.budget_start_ms'),
    )
    .where('h.id', '=', hold)
    .select([
      sql<bigint>`a.posted - a.held`.as('account_usd'),
      sql<bigint | null>`s.granted_usd - s.spent_usd - s.held_usd`.as('day_usd'),
      // Null if the hold had no budget, and so counts in no period.
      sql<bigint | null>`u.spent_usd + u.held_usd`.as('used_usd'),
      sql<bigint | null>`u.spent_staking_usd + u.held_staking_usd`.as('used_staking_usd'),
      'h.budget_usd',
      'h.budget_staking_usd',
      'k.budget_usd as now_usd',
      'k.budget_staking_usd as now_staking_usd',
    ])
    .executeTakeFirst()
  if (!row) return microUsd(0n)
  const staking = within([row.budget_staking_usd, row.now_staking_usd], row.used_staking_usd, row.day_usd ?? 0n)
  return microUsd(staking + within([row.budget_usd, row.now_usd], row.used_usd, row.account_usd))
}

/** Returns how much of an amount the limits leave after this much was used. */
function within(limits: (bigint | null)[], used: bigint | null, amount: bigint): bigint {
  let most = amount
  for (const limit of limits) if (limit !== null && used !== null && limit - used < most) most = limit - used
  return notBelowZero(most)
}

const notBelowZero = (amount: bigint): bigint => (amount > 0n ? amount : 0n)

/** Thrown before anything happened: the account's credit does not cover the hold. */
export class InsufficientCredit extends Error {
  readonly neededMicroUsd: MicroUsd

  constructor(neededMicroUsd: MicroUsd) {
    super('The available credit does not cover this call.')
    this.name = 'InsufficientCredit'
    this.neededMicroUsd = neededMicroUsd
  }
}

/** Thrown before anything happened: the account may have the credit, but this key's own limit is reached. */
export class OverBudget extends Error {
  /** The limit that is reached. */
  readonly limit: 'usd' | 'staking'
  readonly #neededMicroUsd: MicroUsd | null

  constructor(limit: 'usd' | 'staking', neededMicroUsd: MicroUsd | null = null) {
    super('The budget of this key does not cover this call.')
    this.name = 'OverBudget'
    this.limit = limit
    this.#neededMicroUsd = neededMicroUsd
  }

  /** The amount that the call would hold. */
  get neededMicroUsd(): MicroUsd | null {
    return this.#neededMicroUsd
  }
}

/**
 * The work was done, but the ledger became unreachable before it confirmed the charge: a later check will show whether
 * it was made.
 */
export class ChargeUnknown extends StoreError {
  constructor(cause: unknown) {
    super('outcome_unknown', 'The ledger did not confirm whether this call was charged; it is checked again later.', {
      cause,
    })
    this.name = 'ChargeUnknown'
  }
}
