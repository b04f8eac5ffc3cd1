import { authenticationFailed } from '#contract/errors/errors.ts'
import { addUsd, type MicroUsd, microUsd, toUsdNumber, zeroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { type WithinSpan, withSpan } from '#host/tracing/tracing.ts'
import { availableOf } from '../accounts/balances.ts'
import { endedKeys } from '../accounts/keys.ts'
import type { Principal } from '../accounts/principal.ts'
import { checkpointMs, holdLeaseMs, holdRenewalMs } from '../bounds.ts'
import { awayReason, commitSurely, type Outcome, type Refusal, type Store } from '../store/store.ts'
import type { Capture, Line, Op, Owed, Unit } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { chargeAnew } from './charge-anew.ts'
import { ChargeUnknown, type Funding, leftForHold } from './funding.ts'

/** What a paid call reserves before its engine is asked. */
export interface ChargeOrder {
  /** A UUIDv7: no request is charged twice. */
  request: string
  /** A UUIDv7 that names the hold; the request's where absent. Another one where a request is taken up again. */
  holdId?: string
  principal: Principal
  model: string | null
  amount: MicroUsd
  /** How far the hold may be extended; not at all where absent. */
  most?: MicroUsd
}

/** What a request is charged, by the money it is paid with. */
export interface Cost {
  usd: MicroUsd
  staking: MicroUsd
}

export interface Charged extends Cost {
  /** Null where this end of a call did not say. */
  availableMicroUsd: MicroUsd | null
}

/** As the contract's answers print it. */
export const printedCost = ({ usd, staking }: Cost) => ({ usd: toUsdNumber(usd), diem: toUsdNumber(staking) })

/** Operations for the commit that ends a hold, once it is known what the request is charged. */
export type AlsoCommit = (cost: Cost) => readonly Op[] | Promise<readonly Op[]>

/** Thrown when what was to be committed beside the end of a hold was refused: the hold has ended, and only what was delivered is charged. */
export class AlsoCommitRefused extends Error {
  readonly why: Refusal

  constructor(why: Refusal) {
    super(`What belongs to the end of a hold was refused: ${why}.`)
    this.name = 'AlsoCommitRefused'
    this.why = why
  }
}

export interface ChargeParts {
  store: Store
  clock: Clock
  owner: string
  funding: Funding
  onEnd(charge: Charge): void
  onWriteOff(order: ChargeOrder, amount: MicroUsd): void
  /** Others ended the hold of a call before the call did; of what it cost some may be lost. */
  onHoldLost?: (order: ChargeOrder, cost: { totalMicroUsd: MicroUsd; lostMicroUsd: MicroUsd }) => void
  /** Something failed that nobody waits for: work did not say what it owes, or holds were not renewed. */
  onFailure?: (error: unknown) => void
}

/** What a charge begins with. */
export interface OpenedHold {
  order: ChargeOrder
  /** Null where it is not known. */
  available: MicroUsd | null
  /** Runs its end in the span of its request. */
  within: WithinSpan
}

/** Whether the caller has what the lines say already. */
interface Ending {
  lines: readonly Line[]
  isDelivered: boolean
}

const nothing: Cost = { usd: zeroUsd, staking: zeroUsd }

/** One open hold. Ends exactly once, by `capture` or `release`; a second call gets the first result. */
export class Charge {
  readonly order: ChargeOrder
  readonly heldAvailableMicroUsd: MicroUsd | null
  readonly #parts: ChargeParts
  readonly #within: WithinSpan
  #held: MicroUsd
  #ended: Promise<Charged> | null = null
  #owed: (() => readonly Line[]) | null = null
  #lastOwed: readonly Line[] = []
  #checkpointMicroUsd = zeroUsd
  #checkpoint: Promise<void> | null = null
  readonly #whenEnded: (() => void)[] = []
  #stopped: Error | null = null
  #whenStopped: ((error: Error) => void) | null = null
  #isLost = false
  #isOver = false
  #renewedAtMs: number
  #lookedAtMs: number

  constructor({ order, available, within }: OpenedHold, parts: ChargeParts) {
    this.#within = within
    this.order = order
    this.heldAvailableMicroUsd = available
    this.#parts = parts
    this.#held = order.amount
    this.#renewedAtMs = parts.clock.now()
    this.#lookedAtMs = this.#renewedAtMs
  }

  get open(): boolean {
    return this.#ended === null
  }

  /** True once others have ended the hold: what is delivered from now on would be free. */
  get isLost(): boolean {
    return this.#isLost
  }

  get holdId(): string {
    return this.order.holdId ?? this.order.request
  }

  get heldMicroUsd(): MicroUsd {
    return this.#held
  }

  /** How far it may still be extended. */
  get restMicroUsd(): MicroUsd {
    return microUsd((this.order.most ?? this.order.amount) - this.#held)
  }

  /** Told once why this work may cost no more; only for work that can end half-way. */
  whenStopped(run: (error: Error) => void): void {
    this.#whenStopped = run
  }

  /** Why it may cost no more; null while it may. */
  get stopped(): Error | null {
    return this.#stopped
  }

  /** The key it is paid with, where that has to count until the end. */
  get watchedKey(): string | null {
    const { principal } = this.order
    return this.open && this.#whenStopped && !this.#stopped && principal.kind === 'key' ? principal.keyId : null
  }

  /** Its reader gets no more; the work ends as if the reader had left. */
  stop(error: Error): void {
    if (!this.open || this.#stopped) return
    this.#stopped = error
    this.#whenStopped?.(error)
  }

  /** Says what the work has cost so far; from now on it is written down while the work goes on. */
  meter(owed: () => readonly Line[]): void {
    this.#owed = owed
  }

  /**
   * Grows the hold by `amount`, or by what its sources still have, while its key counts. Answers null, or why it has not
   * grown at all.
   */
  async extend(amount: MicroUsd): Promise<Refusal | null> {
    const { store, clock } = this.#parts
    const key = this.watchedKey
    if (key !== null && (await endedKeys(store, [key], clock.now())).has(key)) {
      this.stop(authenticationFailed())
      return 'no_key'
    }
    return this.#grow(amount)
  }

  async #grow(amount: MicroUsd): Promise<Refusal | null> {
    const wanted = least(amount, this.restMicroUsd)
    if (wanted <= 0n) return 'insufficient_funds'
    const why = await this.#extend(wanted)
    if (why !== 'insufficient_funds' && why !== 'over_budget') return why
    const left = await leftForHold(this.#parts.store, this.holdId)
    return left > 0n && left < wanted ? this.#extend(left) : why
  }

  async #extend(amount: MicroUsd): Promise<Refusal | null> {
    const id = `${uuidV7(this.#parts.clock.now())}/extend`
    const outcome = await commitSurely(this.#parts.store, {
      id,
      ops: [{ op: 'extend', hold: this.holdId, amount }],
    })
    this.renewed(outcome)
    if (!outcome.ok) return outcome.why
    this.#held = addUsd(this.#held, amount)
    return null
  }

  /**
   * Charges the lines and frees the rest. What they cost beyond the hold is written off, unless the order lets the hold
   * grow that far. No lines: nothing is charged; nor is a request that was charged before, by a process that died. A hold
   * that others have ended is made again (`chargeAnew`). Throws `AlsoCommitRefused`.
   */
  capture(lines: readonly Line[], alsoCommit?: AlsoCommit): Promise<Charged> {
    this.#ended ??= this.#end({ lines, isDelivered: false }, alsoCommit)
    return this.#ended
  }

  /** Once, when the hold has ended or could not be ended; at once where that has been. */
  whenEnded(run: () => void): void {
    if (this.#isOver) run()
    else this.#whenEnded.push(run)
  }

  release(): Promise<Charged> {
    return this.capture([])
  }

  /** Charges what the meter says is owed, even where `alsoCommit` is refused: a stream has been delivered by then. */
  settle(alsoCommit?: AlsoCommit): Promise<Charged> {
    this.#ended ??= this.#end({ lines: this.#owedNow(), isDelivered: true }, alsoCommit)
    return this.#ended
  }

  /** Work that cannot say what it owes owes what it said last: its hold has to end all the same. */
  #owedNow(): readonly Line[] {
    try {
      this.#lastOwed = this.#owed?.() ?? []
    } catch (error) {
      this.#parts.onFailure?.(error)
    }
    return this.#lastOwed
  }

  #end(ending: Ending, alsoCommit?: AlsoCommit): Promise<Charged> {
    return this.#within(() => withSpan('capture', {}, () => this.#endHold(ending, alsoCommit)))
  }

  async #endHold({ lines, isDelivered }: Ending, alsoCommit: AlsoCommit = () => []): Promise<Charged> {
    try {
      const total = addUsd(zeroUsd, ...lines.map(line => line.amount))
      if (total > this.#held) await this.#grow(microUsd(total - this.#held))
      const writeOff = microUsd(total > this.#held ? total - this.#held : 0n)
      let cost = await this.#costOf(microUsd(total - writeOff))
      let outcome = await this.#commitEnd({ lines, writeOff }, await alsoCommit(cost))
      const refused = !outcome.ok && outcome.op > 0 ? outcome.why : null
      if (refused && isDelivered) outcome = await this.#commitEnd({ lines, writeOff }, [])
      if (outcome.ok && writeOff > 0n) this.#parts.onWriteOff(this.order, writeOff)
      if (!outcome.ok && outcome.why === 'request_charged') {
        cost = nothing
        outcome = await this.#commitEnd({ lines: [] }, refused ? [] : await alsoCommit(cost))
      }
      if (outcome.ok) {
        if (refused) throw new AlsoCommitRefused(refused)
        return { ...cost, availableMicroUsd: availableOf(outcome.balances, this.order.principal.account) }
      }
      if (outcome.op === 0 && outcome.why === 'no_hold') return await this.#endLost({ lines, isDelivered }, alsoCommit)
      if (outcome.op === 0) throw new Error(`The ledger refused to end hold ${this.holdId}: ${outcome.why}.`)
      await this.#commitEnd({ lines: [] }, [])
      throw new AlsoCommitRefused(refused ?? outcome.why)
    } catch (error) {
      throw lines.length > 0 && awayReason(error) !== null ? new ChargeUnknown(error) : error
    } finally {
      this.#isOver = true
      this.#parts.onEnd(this)
      for (const run of this.#whenEnded.splice(0)) run()
    }
  }

  async #endLost({ lines, isDelivered }: Ending, alsoCommit: AlsoCommit): Promise<Charged> {
    this.#isLost = true
    const lost = { order: this.order, lines, isDelivered }
    const { cost, availableMicroUsd, refused } = await chargeAnew(this.#parts, lost, alsoCommit)
    if (refused) throw new AlsoCommitRefused(refused)
    return { ...cost, availableMicroUsd }
  }

  /** Staking credit pays first, as far as the hold was taken from it. */
  async #costOf(charged: MicroUsd): Promise<Cost> {
    if (charged === 0n || !this.#parts.funding.hasStaking) return { usd: charged, staking: zeroUsd }
    const row = await this.#parts.store.read
      .selectFrom('hold')
      .select('staking_usd')
      .where('id', '=', this.holdId)
      .executeTakeFirst()
    const staking = least(charged, microUsd(row?.staking_usd ?? 0n))
    return { usd: microUsd(charged - staking), staking }
  }

  #commitEnd({ lines, writeOff }: Pick<Capture, 'lines' | 'writeOff'>, beside: readonly Op[]): Promise<Outcome> {
    const { request, model } = this.order
    const hold = this.holdId
    const atMs = this.#parts.clock.now()
    const lost = writeOff ? { writeOff } : {}
    const unit: Unit = lines.length
      ? { id: `${hold}/capture`, ops: [{ op: 'capture', hold, request, model, lines, ...lost, atMs }, ...beside] }
      : { id: `${hold}/release`, ops: [{ op: 'release', hold }, ...beside] }
    return commitSurely(this.#parts.store, unit)
  }

  /** Writes down what is owed now. One at a time; a failure is no harm, because the next one writes all of it again. */
  checkpoint(): Promise<void> {
    this.#checkpoint ??= this.#writeCheckpoint().finally(() => {
      this.#checkpoint = null
    })
    return this.#checkpoint
  }

  async #writeCheckpoint(): Promise<void> {
    const unit = this.checkpointUnit()
    if (!unit) return
    const outcomes = await this.#parts.store.commit([unit]).catch(() => this.notWritten())
    this.renewed(outcomes?.[0])
  }

  /** Told what became of the unit that should keep the hold alive: others may have ended it, for want of a sign of life. */
  renewed(outcome: Outcome | undefined): void {
    const isGone = outcome && !outcome.ok && (outcome.why === 'no_hold' || outcome.why === 'not_owner')
    if (isGone && this.open) this.#isLost = true
  }

  /** A checkpoint may not have arrived: the next one says all of it again. */
  notWritten(): void {
    this.#checkpointMicroUsd = zeroUsd
  }

  get isCheckpointDue(): boolean {
    return this.open && this.#owed !== null && this.#parts.clock.now() - this.#lookedAtMs >= checkpointMs
  }

  get isLeaseOld(): boolean {
    return this.open && this.#parts.clock.now() - this.#renewedAtMs >= holdRenewalMs
  }

  /** The unit that says what is owed; null where that is what was said before. */
  checkpointUnit(): Unit | null {
    this.#lookedAtMs = this.#parts.clock.now()
    const lines = this.#owedNow()
    const owedMicroUsd = addUsd(zeroUsd, ...lines.map(line => line.amount))
    if (!this.open || owedMicroUsd <= this.#checkpointMicroUsd) return this.isLeaseOld ? this.renewal() : null
    this.#checkpointMicroUsd = owedMicroUsd
    const { request, model } = this.order
    return this.renewal({ request, model, lines })
  }

  /** The unit that keeps this hold alive. */
  renewal(owed?: Owed): Unit {
    const { clock, owner } = this.#parts
    const nowMs = clock.now()
    this.#renewedAtMs = nowMs
    const lease = { owner, untilMs: nowMs + holdLeaseMs }
    const renew = { op: 'renew', hold: this.holdId, lease, ...(owed ? { owed } : {}) } as const
    return { id: `${uuidV7(nowMs)}/renew`, ops: [renew] }
  }
}

const least = (one: MicroUsd, other: MicroUsd): MicroUsd => (one < other ? one : other)
