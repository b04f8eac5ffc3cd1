import { accessDisabled, authenticationFailed } from '#contract/errors/errors.ts'
import { addUsd, leastUsd, type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import { isAhead } from '#contract/time.ts'
import { type WithinSpan, withSpan } from '#host/tracing/tracing.ts'
import { availableOf } from '../accounts/balances.ts'
import { endedKeys } from '../accounts/keys.ts'
import { checkpointMs, holdLeaseMs, holdRenewalMs } from '../bounds.ts'
import { awayReason, commitSurely, type Outcome, type Refusal } from '../store/store.ts'
import type { Capture, Line, Op, Owed, Unit } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { chargeAnew } from './charge-anew.ts'
import {
  type AlsoCommit,
  AlsoCommitRefused,
  type Charged,
  type ChargeOrder,
  type ChargeParts,
  type Cost,
  holdOf,
  noCost,
} from './charge-order.ts'
import { ChargeUnknown, leftForHold } from './funding.ts'

export interface OpenedHold {
  order: ChargeOrder
  /** Null if unknown. */
  available: MicroUsd | null
  /** Runs the end of the charge in the span of its request. */
  within: WithinSpan
}

/** Whether the caller already has what the lines charge for. */
interface Ending {
  lines: readonly Line[]
  isDelivered: boolean
}

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
  #whenSuspended: ((error: Error) => void) | null = null
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

  /** True once another process has ended the hold: anything delivered from now on would be free. */
  get isLost(): boolean {
    return this.#isLost
  }

  get holdId(): string {
    return holdOf(this.order)
  }

  get heldMicroUsd(): MicroUsd {
    return this.#held
  }

  /** How much further it may be extended. */
  get restMicroUsd(): MicroUsd {
    return microUsd((this.order.most ?? this.order.amount) - this.#held)
  }

  /** Registers a callback for the moment when this work may cost no more; only for work that can end midway. */
  whenStopped(run: (error: Error) => void): void {
    this.#whenStopped = run
  }

  /** Called once if the account is suspended; for work whose answer is sent as a whole, and so cannot end midway. */
  whenSuspended(run: (error: Error) => void): void {
    this.#whenSuspended = run
  }

  /** Why it may cost no more; null while it may. */
  get stopped(): Error | null {
    return this.#stopped
  }

  /** The key that pays, if it must stay active until the end. */
  get watchedKey(): string | null {
    const { principal } = this.order
    return this.open && this.#whenStopped && !this.#stopped && principal.kind === 'key' ? principal.keyId : null
  }

  /** Stops delivery; the work ends as if the reader had left. */
  stop(error: Error): void {
    if (!this.open || this.#stopped) return
    this.#stopped = error
    this.#whenStopped?.(error)
  }

  /** Reports what the work has cost so far; from now on it is written periodically while the work continues. */
  meter(owed: () => readonly Line[]): void {
    this.#owed = owed
  }

  /**
   * Grows the hold by `amount`, or by as much as is available, while its key is active. Returns null, or why it did not
   * grow at all.
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
    const wanted = leastUsd(amount, this.restMicroUsd)
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
   * Charges the lines and frees the rest. Cost beyond the hold is written off, unless the order lets the hold grow that
   * far. Without lines nothing is charged, and neither is a request that another process charged before it died. If
   * another process ended the hold, the call is charged under a new one (`chargeAnew`). Throws `AlsoCommitRefused`.
   */
  capture(lines: readonly Line[], alsoCommit?: AlsoCommit): Promise<Charged> {
    this.#ended ??= this.#end({ lines, isDelivered: false }, alsoCommit)
    return this.#ended
  }

  /** Runs once when the hold has ended or could not be ended; at once if that has already happened. */
  whenEnded(run: () => void): void {
    if (this.#isOver) run()
    else this.#whenEnded.push(run)
  }

  release(): Promise<Charged> {
    return this.capture([])
  }

  /** Charges the metered cost, even if `alsoCommit` is refused, because a stream has been delivered by then. */
  settle(alsoCommit?: AlsoCommit): Promise<Charged> {
    this.#ended ??= this.#end({ lines: this.#owedNow(), isDelivered: true }, alsoCommit)
    return this.#ended
  }

  /** If the meter fails, the last reported cost is charged, because the hold must end anyway. */
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
        cost = noCost
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

  /** Staking credit pays first, as far as the hold used it. */
  async #costOf(charged: MicroUsd): Promise<Cost> {
    if (charged === 0n || !this.#parts.funding.hasStaking) return { usd: charged, staking: zeroUsd }
    const row = await this.#parts.store.read
      .selectFrom('hold')
      .select('staking_usd')
      .where('id', '=', this.holdId)
      .executeTakeFirst()
    const staking = leastUsd(charged, microUsd(row?.staking_usd ?? 0n))
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

  /**
   * Writes the current cost. One write at a time; a failure is harmless, because the next one writes everything again.
   */
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

  /**
   * Receives the outcome of the unit that keeps the hold alive: if renewals were missed, another process may have ended
   * the hold.
   */
  renewed(outcome: Outcome | undefined): void {
    const isGone = outcome && !outcome.ok && (outcome.why === 'no_hold' || outcome.why === 'not_owner')
    if (isGone && this.open) this.#isLost = true
    if (outcome && !outcome.ok && outcome.why === 'suspended') this.#suspend()
  }

  #suspend(): void {
    if (this.#whenStopped) this.stop(accessDisabled())
    else if (this.open) this.#whenSuspended?.(accessDisabled())
  }

  /** A checkpoint may not have arrived, so the next one reports everything again. */
  notWritten(): void {
    this.#checkpointMicroUsd = zeroUsd
  }

  /** When the cost so far was last read. */
  get lookedAtMs(): number {
    return this.#lookedAtMs
  }

  get isCheckpointDue(): boolean {
    return this.open && this.#owed !== null && this.#isPast(this.#lookedAtMs, checkpointMs)
  }

  get isLeaseOld(): boolean {
    return this.open && this.#isPast(this.#renewedAtMs, holdRenewalMs)
  }

  #isPast(sinceMs: number, spanMs: number): boolean {
    return !isAhead(sinceMs + spanMs, spanMs, this.#parts.clock.now())
  }

  /** Returns the unit that records the cost so far; null if that is already recorded. */
  checkpointUnit(): Unit | null {
    this.#lookedAtMs = this.#parts.clock.now()
    const lines = this.#owedNow()
    const owedMicroUsd = addUsd(zeroUsd, ...lines.map(line => line.amount))
    if (!this.open || owedMicroUsd <= this.#checkpointMicroUsd) return this.isLeaseOld ? this.renewal() : null
    this.#checkpointMicroUsd = owedMicroUsd
    const { request, model } = this.order
    return this.renewal({ request, model, lines })
  }

  /** Returns the unit that keeps this hold alive. */
  renewal(owed?: Owed): Unit {
    const { clock, owner } = this.#parts
    const nowMs = clock.now()
    this.#renewedAtMs = nowMs
    const lease = { owner, untilMs: nowMs + holdLeaseMs }
    const renew = { op: 'renew', hold: this.holdId, lease, ...(owed ? { owed } : {}) } as const
    return { id: `${uuidV7(nowMs)}/renew`, ops: [renew] }
  }
}
