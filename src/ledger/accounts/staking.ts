import { type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import { type Clock, dayMs as dayLengthMs, isAhead } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import { amountMicroUsd } from '../bounds.ts'
import type { Store } from '../store/store.ts'
import type { StakingDay } from '../store/units.ts'
import type { Principal } from './principal.ts'
import { type StakeReader, stakeAnswerMs } from './stake-reader.ts'

/** Every limit of staking credit, with its unit. */

/** How long a stake is cached: stakes rarely change, and a node should not be asked for every call. */
const stakeFreshMs = 60_000

/** Pause after an unanswered request; meanwhile calls use the last known stake. */
const stakeRetryMs = 10_000

/** Accounts whose stake is cached: some 10 MB. The least recently active is dropped first. */
const rememberedStakes = 50_000

/** Wallets of one account whose stakes are added up; each is a request to the node. */
const stakingWallets = 20

interface Known {
  dayMs: number
  granted: MicroUsd
  untilMs: number
}

/**
 * The credit that an account's wallets get for their stakes each UTC day. If the chain does not answer, today's last
 * known stake is used, or none. Calls that pay with USD never fail because of it.
 */
export class StakingCredits {
  readonly #store: Store
  readonly #clock: Clock
  readonly #reader: StakeReader
  readonly #onFailure: (error: unknown) => void
  readonly #known = new RecentMap<Known>(rememberedStakes)
  readonly #asking = new Map<string, Promise<Known>>()

  constructor(options: { store: Store; clock: Clock; reader: StakeReader; onFailure: (error: unknown) => void }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#reader = options.reader
    this.#onFailure = options.onFailure
  }

  /** Returns null if nothing is staked. */
  async today(principal: Principal): Promise<StakingDay | null> {
    const { dayMs, granted } = await this.#current(principal)
    return granted > 0n ? { dayMs, granted } : null
  }

  /** Returns the part of today's credit that is neither spent nor held. */
  async left(principal: Principal): Promise<MicroUsd> {
    const day = await this.today(principal)
    if (!day) return zeroUsd
    const row = await this.#rowOf(principal.account, day.dayMs)
    const left = day.granted - (row ? row.spent_usd + row.held_usd : 0n)
    return left > 0n ? microUsd(left) : zeroUsd
  }

  async #current(principal: Principal): Promise<Known> {
    const { account } = principal
    const known = this.#known.get(account)
    if (known?.dayMs === this.#day() && isAhead(known.untilMs, stakeFreshMs, this.#clock.now())) return known
    const asking = this.#asking.get(account) ?? this.#ask(principal, known)
    this.#asking.set(account, asking)
    try {
      return await asking
    } finally {
      this.#asking.delete(account)
    }
  }

  /** The day is that of the answer: a question that is asked just before midnight is answered on the next day. */
  async #ask(principal: Principal, before: Known | undefined): Promise<Known> {
    let known: Known
    try {
      const granted = await this.#read(principal)
      known = { dayMs: this.#day(), granted, untilMs: this.#clock.now() + stakeFreshMs }
    } catch (error) {
      this.#onFailure(error)
      const dayMs = this.#day()
      const granted = before?.dayMs === dayMs ? before.granted : await this.#stored(principal.account, dayMs)
      known = { dayMs, granted, untilMs: this.#clock.now() + stakeRetryMs }
    }
    this.#known.set(principal.account, known)
    return known
  }

  /** Returns the beginning of the current UTC day. */
  #day(): number {
    const nowMs = this.#clock.now()
    return nowMs - (nowMs % dayLengthMs)
  }

  async #read(principal: Principal): Promise<MicroUsd> {
    const wallets = await this.#walletsOf(principal)
    if (!wallets.length) return zeroUsd
    const stake = await inTime(this.#reader.stakeOf(wallets))
    if (stake < 0n) throw new Error('The chain returned a negative stake.')
    // The chain may have larger numbers than a money column.
    return microUsd(stake < amountMicroUsd ? stake : amountMicroUsd)
  }

  async #walletsOf(principal: Principal): Promise<string[]> {
    if (principal.kind === 'wallet' && principal.isNew) return [principal.wallet]
    const rows = await this.#store.read
      .selectFrom('wallet')
      .select('id')
      .where('account', '=', principal.account)
      .orderBy('id')
      .limit(stakingWallets)
      .execute()
    return rows.map(({ id }) => id)
  }

  /** Returns what another process, or this one before a restart, learned today. */
  async #stored(account: string, dayMs: number): Promise<MicroUsd> {
    const row = await this.#rowOf(account, dayMs)
    return row ? microUsd(row.granted_usd) : zeroUsd
  }

  #rowOf(account: string, dayMs: number) {
    return this.#store.read
      .selectFrom('staking_credit')
      .select(['granted_usd', 'spent_usd', 'held_usd'])
      .where('account', '=', account)
      .where('day_ms', '=', dayMs)
      .executeTakeFirst()
  }
}

function inTime(stake: Promise<bigint>): Promise<bigint> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`The chain did not return the stake within ${stakeAnswerMs} ms.`))
    const timer = setTimeout(late, stakeAnswerMs)
    stake.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
