import { authenticationFailed, ledgerReadOnly } from '#contract/errors/errors.ts'
import type { KeyLimitReached } from '#contract/errors/failures.ts'
import { tooManyInFlight } from '#contract/errors/retry-after.ts'
import { walletConcurrency } from '#contract/limits.ts'
import { addUsd, type MicroUsd, toUsdNumber, zeroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { balanceOf } from '../accounts/accounts.ts'
import { budgetLeft, nextPeriodMs, periodStarts } from '../accounts/budget-periods.ts'
import type { Principal } from '../accounts/principal.ts'
import type { StakingCredits } from '../accounts/staking-credits.ts'
import { openWalletAccount } from '../accounts/wallet-account.ts'
import type { KeyBudget } from '../store/account-ops.ts'
import type { Refusal } from '../store/outcome.ts'
import type { Store } from '../store/store.ts'
import type { Hold, Lease, Op, StakingDay } from '../store/units.ts'
import { InsufficientCredit, OverBudget } from './refusals.ts'

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

export interface HoldOrder {
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

  /** What is left of one limit of a key's budget, and when that starts anew, as a 402 says it. */
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

export const budgetOf = (principal: Principal): KeyBudget | null =>
  principal.kind === 'key' ? (principal.budget ?? null) : null

const openingOps = (principal: Principal, staking: StakingDay | null, atMs: number): Op[] =>
  principal.kind === 'wallet' && principal.isNew && staking ? openWalletAccount(principal.wallet, atMs) : []

const atMost = (limit: MicroUsd | null, amount: MicroUsd): MicroUsd =>
  limit !== null && limit < amount ? limit : amount
