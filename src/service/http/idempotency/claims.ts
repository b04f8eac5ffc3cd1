import { keyInUse } from '#contract/errors/errors.ts'
import type { Clock } from '#contract/time.ts'
import { retryAfter } from '#contract/wire/headers.ts'
import { OpenList } from '#host/async.ts'
import { RecentMap } from '#host/recent-map.ts'
import { commitSurely, isClockShared, type Outcome, type Store } from '#ledger/store/store.ts'
import type { ClaimFields, ClaimState, Lease, MoveClaim, Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import {
  claimAttempts,
  claimLeaseMs,
  claimRenewalMs,
  type KeptAnswer,
  keptAccounts,
  keptBytesADay,
  keptSpaceMs,
  keyInUseRetryMs,
  readAnswer,
  recordedBytes,
  smallAnswerBytes,
} from './replayed-answer.ts'

/** A key and its request. */
export interface ClaimOrder {
  claim: string
  account: string
  /** The request that is charged if the work has not begun yet. */
  request: string
  fingerprint: string
  /** Operations that open the account, if it must exist first. */
  opening?: readonly Op[]
}

/** The state of a key in the store. */
export type Taken =
  | { state: 'ours'; claim: RunningClaim }
  /**
   * A null answer was not kept, because it was too large or one of too many. The request is the one that was charged.
   */
  | { state: 'done'; answer: KeptAnswer | null; request: string }
  | { state: 'other-request' }
  | { state: 'no-account' }

type ClaimRow = Awaited<ReturnType<Claims['find']>>

/**
 * All keys whose work this process does: takes them, renews their leases, and waits for them when the service drains.
 */
export class Claims {
  readonly #store: Store
  readonly #clock: Clock
  /** Identifies this process in leases. */
  readonly #owner: string
  /** The space that each account's answers take. */
  readonly space: KeptSpace
  readonly #running = new OpenList<RunningClaim>()
  #renewal: NodeJS.Timeout | null = null
  #whenIdle: (() => void)[] = []
  #recordedBytes = 0

  constructor(options: { store: Store; clock: Clock; owner: string }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#owner = options.owner
    this.space = new KeptSpace(options.clock)
  }

  /** Takes the key, or returns its outcome. Throws `keyInUse` while another process works under it. */
  async take(order: ClaimOrder): Promise<Taken> {
    for (let attempt = 0; attempt < claimAttempts; attempt++) {
      const row = await this.find(order.claim)
      const taken = row ? await this.#takeUp(order, row) : await this.#begin(order)
      if (taken) return taken
    }
    throw this.inUse()
  }

  /** Returns the outcome of a claim that another process took first. Throws `keyInUse` while that process works. */
  async ended({ claim }: ClaimOrder): Promise<Extract<Taken, { state: 'done' }>> {
    const answer = await this.#answer(claim)
    if (!answer) throw this.inUse()
    return answer
  }

  find(claim: string) {
    return this.#store.read
      .selectFrom('claim')
      .select(['request', 'fingerprint', 'state', 'fence', 'lease_owner', 'lease_until_ms'])
      .where('id', '=', claim)
      .executeTakeFirst()
  }

  /** Returns null if another request was faster. */
  async #begin({ claim, account, request, fingerprint, opening = [] }: ClaimOrder): Promise<Taken | null> {
    const set = { account, request, fingerprint, lease: this.#newLease() }
    const why = await this.#commit({ claim, from: null, fence: 0, set }, opening)
    if (why === null) return this.#ours({ id: claim, request, fence: 1, takenOver: false })
    return why === 'no_account' ? { state: 'no-account' } : null
  }

  /** Returns null if the claim changed in the meantime. */
  async #takeUp({ claim, fingerprint }: ClaimOrder, row: NonNullable<ClaimRow>): Promise<Taken | null> {
    if (row.fingerprint !== fingerprint) return { state: 'other-request' }
    if (row.state === 'done') return this.#answer(claim)
    if (await this.#isAlive(claim, row)) throw this.inUse()
    const { request, fence } = row
    const why = await this.#commit({ claim, from: 'running', fence, set: { lease: this.#newLease() } })
    return why === null ? this.#ours({ id: claim, request, fence: fence + 1, takenOver: true }) : null
  }

  /**
   * If no other process writes, any other owner of a lease is dead. Otherwise, only a trustworthy clock shows that a
   * lease has lapsed; our own lease has not while its work continues, even if the clock jumped or the machine slept.
   */
  async #isAlive(claim: string, { lease_owner, lease_until_ms }: NonNullable<ClaimRow>): Promise<boolean> {
    if (lease_until_ms === null) return false
    const isLapsed = lease_until_ms <= this.#clock.now()
    if (lease_owner === this.#owner) return !isLapsed || this.#running.all().some(({ id }) => id === claim)
    if (this.#store.soleOwner) return false
    return !isLapsed || !(await isClockShared(this.#store))
  }

  async #answer(claim: string): Promise<Extract<Taken, { state: 'done' }> | null> {
    const row = await this.#store.read
      .selectFrom('claim_answer')
      .innerJoin('claim', 'claim.id', 'claim_answer.claim')
      .select(['claim_answer.answer', 'claim.request'])
      .where('claim_answer.claim', '=', claim)
      .executeTakeFirst()
    return row ? { state: 'done', answer: readAnswer(row.answer), request: row.request } : null
  }

  #ours(row: ConstructorParameters<typeof RunningClaim>[0]): Taken {
    const claim = new RunningClaim(row, {
      store: this.#store,
      clock: this.#clock,
      owner: this.#owner,
      onOver: () => {
        forget()
        this.#whenNoneRuns()
      },
    })
    const forget = this.#running.add(claim)
    this.#renewal ??= setInterval(() => void this.renew(), claimRenewalMs).unref()
    return { state: 'ours', claim }
  }

  async renew(): Promise<void> {
    await Promise.all(this.#running.all().map(claim => claim.renew()))
  }

  /** Resolves when no key's work is in flight. */
  async drain(): Promise<void> {
    if (this.#running.size) await new Promise<void>(resolve => this.#whenIdle.push(resolve))
    if (this.#renewal) clearInterval(this.#renewal)
    this.#renewal = null
  }

  /** Counts bytes in memory; negative when they are freed. False if there is no room, and then nothing was counted. */
  record(bytes: number): boolean {
    if (this.#recordedBytes + bytes > recordedBytes) return false
    this.#recordedBytes += bytes
    return true
  }

  inUse() {
    return keyInUse(
      {
        error: 'A request with this key is in flight; retry with the same key to get its answer.',
        code: 'IDEMPOTENCY_KEY_IN_USE',
      },
      { [retryAfter.name]: retryAfter.format(keyInUseRetryMs / 1000) },
    )
  }

  /** Returns why it was refused, or null. */
  async #commit(move: Pick<MoveClaim, 'claim' | 'from' | 'fence' | 'set'>, before: readonly Op[] = []) {
    const atMs = this.#clock.now()
    const to: ClaimState = 'running'
    const outcome = await commitSurely(this.#store, {
      id: `${uuidV7(atMs)}/claim`,
      ops: [...before, { op: 'claim', to, atMs, ...move }],
    })
    return outcome.ok ? null : outcome.why
  }

  #newLease(): Lease {
    return { owner: this.#owner, untilMs: this.#clock.now() + claimLeaseMs }
  }

  #whenNoneRuns(): void {
    if (this.#running.size) return
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }
}

/** Tracks how much disk space each account's answers take, as far as this process kept them within a day. */
export class KeptSpace {
  readonly #clock: Clock
  readonly #used = new RecentMap<{ sinceMs: number; bytes: number }>(keptAccounts)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts an answer of this size. False if there is no room: it is delivered but not kept. */
  take(account: string, bytes: number): boolean {
    if (bytes <= smallAnswerBytes) return true
    const nowMs = this.#clock.now()
    const last = this.#used.get(account)
    const used = last && nowMs - last.sinceMs < keptSpaceMs ? last : { sinceMs: nowMs, bytes: 0 }
    if (used.bytes + bytes > keptBytesADay) return false
    this.#used.set(account, { sinceMs: used.sinceMs, bytes: used.bytes + bytes })
    return true
  }
}

interface ClaimParts {
  store: Store
  clock: Clock
  owner: string
  onOver: () => void
}

/** A claim under this process's lease. Every move compares the fence, so a move after losing the lease is refused. */
export class RunningClaim {
  readonly id: string
  /** The request that is charged for the work, however often it is resumed. */
  readonly request: string
  /** True if a process that died or gave up had begun the work before. */
  readonly takenOver: boolean
  readonly #parts: ClaimParts
  #fence: number
  #renewal: Promise<void> | null = null
  #kept = false

  constructor(row: { id: string; request: string; fence: number; takenOver: boolean }, parts: ClaimParts) {
    this.id = row.id
    this.request = row.request
    this.takenOver = row.takenOver
    this.#fence = row.fence
    this.#parts = parts
  }

  /** True once an answer was handed to a commit: from then on only that commit decides. */
  get kept(): boolean {
    return this.#kept
  }

  /** Extends the lease while the work is alive. A failure is harmless, because ending the claim reports it. */
  renew(): Promise<void> {
    if (this.#kept) return Promise.resolve()
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = null
    })
    return this.#renewal
  }

  async #renew(): Promise<void> {
    const untilMs = this.#parts.clock.now() + claimLeaseMs
    const lease = { owner: this.#parts.owner, untilMs }
    const outcome = await this.#commit(this.#move('running', { lease })).catch(() => null)
    if (outcome?.ok) this.#fence += 1
  }

  /** Returns the operation that ends the claim with this answer, for the commit that charges the work. */
  async keep(answer: string): Promise<MoveClaim> {
    this.#kept = true
    await this.#renewal
    return this.#move('done', { answer, lease: null })
  }

  /** Ends the claim without a charge. False if another process has it now. */
  async finish(answer: string): Promise<boolean> {
    return (await this.#commit(await this.keep(answer))).ok
  }

  /** Removes the claim: the same key starts again. */
  async giveUp(): Promise<void> {
    await this.#renewal
    await this.#commit(this.#move('gone', {}))
  }

  /** Leaves the claim to the next request with the same key, which may take it at once. */
  async leave(): Promise<void> {
    await this.#renewal
    await this.#commit(this.#move('running', { lease: null }))
  }

  /** Forgets the claim in this process; the store keeps it. */
  over(): void {
    this.#parts.onOver()
  }

  #commit(move: MoveClaim): Promise<Outcome> {
    return commitSurely(this.#parts.store, { id: `${uuidV7(move.atMs)}/claim`, ops: [move] })
  }

  #move(to: MoveClaim['to'], set: ClaimFields): MoveClaim {
    const atMs = this.#parts.clock.now()
    return { op: 'claim', claim: this.id, from: 'running', to, fence: this.#fence, set, atMs }
  }
}
