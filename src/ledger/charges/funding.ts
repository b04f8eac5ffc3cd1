import { sql } from 'kysely'
import { authenticationFailed, ledgerReadOnly } from '#contract/errors/errors.ts'
import type { KeyLimitReached } from '#contract/errors/failures.ts'
import { tooManyInFlight } from '#contract/errors/retry-after.ts'
import { walletConcurrency } from '#contract/limits.ts'
import { addUsd, type MicroUsd, microUsd, toUsdNumber, zeroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { balanceOf } from '../accounts/balances.ts'
import { budgetLeft, nextPeriodMs, periodStarts } from '../accounts/keys.ts'
import type { Principal } from '../accounts/principal.ts'
import type { StakingCredits } from '../accounts/staking.ts'
import { openWalletAccount } from '../accounts/wallet-accounts.ts'
import type { KeyBudget } from '../store/account-ops.ts'
import { type Refusal, type Store, StoreError } from '../store/store.ts'
import type { Hold, Lease, Op, StakingDay } from '../store/units.ts'

/** What a caller can pay with at this moment. It may be less a moment later: only the hold decides. */
export interface Spendable {
  /** The account's own available credit. */
  usd: MicroUsd
  /** What is left of today's staking credit; null where the service gives none. */
  staking: MicroUsd | null
  /** The parts of both that the key's own budget lets through. */
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

  /** All that stakes give the caller today, used or not; null where the service gives none. */
  async stakingToday(principal: Principal): Promise<MicroUsd | null> {
    if (!this.#staking) return null
    return (await this.#staking.today(principal))?.granted ?? zeroUsd
  }

  async spendable(principal: Principal): Promise<Spendable> {
    const budget = budgetOf(principal)
    const [{ availableMicroUsd: usd }, staking, left] = await Promise.all([
      balanceOf(this.#store, principal.account),
      this.#staking?.left(principal) ?? null,
      budget && principal.kind === 'key'
        ? budgetLeft(this.#store, principal.keyId, budget, this.#clock.now())
        : { usd: null, staking: null },
    ])
    return { usd, staking, within: { usd: atMost(left.usd, usd), staking: atMost(left.staking, staking ?? zeroUsd) } }
  }

  /** What is left of one limit of a key's budget, and when that starts again, as a 402 says it. */
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

  /** The operations that take the hold; a wallet whose stake is all that it has gets its account with them. */
  async holdOps({ hold, principal, amount }: HoldOrder, lease: Lease): Promise<Op[]> {
    const atMs = this.#clock.now()
    const staking = (await this.#staking?.today(principal)) ?? null
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

  /** Why a hold was refused, as the error that answers the call. */
  async refusal({ principal, amount, hold }: HoldOrder, why: Refusal): Promise<Error> {
    switch (why) {
      case 'no_account':
        return new InsufficientCredit(amount)
      case 'insufficient_funds':
        return shortage(await this.spendable(principal), amount)
      case 'over_budget':
        return new OverBudget('usd', amount)
      case 'no_key':
        // Revoked by another process a moment ago.
        return authenticationFailed()
      case 'too_many_open':
        return tooManyInFlight(this.#clock.now())
      case 'read_only':
        return ledgerReadOnly()
      default:
        return new Error(`The ledger refused hold ${hold}: ${why}.`)
    }
  }
}

/** What to say where `needed` is not there: too little credit, or a limit of the key that keeps it from what is there. */
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
 * What an open hold may still be extended by. It draws on its own day of staking credit and its own period of the key's
 * budget, whatever day it is by now, within the limits that it was opened with and those that its key has now. Another
 * call may take it first: only the extension decides.
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
      // Null where the hold had no budget, because then it counts in no period.
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

/** What of an amount the limits leave, of which so much is used. */
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
  /** Which of the key's limits. */
  readonly limit: 'usd' | 'staking'
  readonly #neededMicroUsd: MicroUsd | null

  constructor(limit: 'usd' | 'staking', neededMicroUsd: MicroUsd | null = null) {
    super('The budget of this key does not cover this call.')
    this.name = 'OverBudget'
    this.limit = limit
    this.#neededMicroUsd = neededMicroUsd
  }

  /** What the call would hold. */
  get neededMicroUsd(): MicroUsd | null {
    return this.#neededMicroUsd
  }
}

/** The work was done, and the books were gone before they answered for its charge: it may stand or not, and a later look will tell. */
export class ChargeUnknown extends StoreError {
  constructor(cause: unknown) {
    super('outcome_unknown', 'The ledger did not confirm whether this call was charged; it is checked again later.', {
      cause,
    })
    this.name = 'ChargeUnknown'
  }
}
