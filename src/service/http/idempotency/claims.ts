import { keyInUse } from '#contract/errors/errors.ts'
import type { Clock } from '#contract/time.ts'
import { retryAfter } from '#contract/wire/headers.ts'
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
} from './kept-answer.ts'

/** A key as it came with a request. */
export interface ClaimOrder {
  claim: string
  account: string
  /** Charged for the work if nobody has begun it yet. */
  request: string
  fingerprint: string
  /** Operations that open the account, where it has to exist first. */
  opening?: readonly Op[]
}

/** What the store says of a key. */
export type Taken =
  | { state: 'ours'; claim: RunningClaim }
  /** An answer of null was not kept, because it was too large or one of too many. The request is what was charged. */
  | { state: 'done'; answer: KeptAnswer | null; request: string }
  | { state: 'other-request' }
  | { state: 'no-account' }

type ClaimRow = Awaited<ReturnType<Claims['find']>>

/** All keys whose work this process does: takes them, keeps their leases, and waits for them when the service drains. */
export class Claims {
  readonly #store: Store
  readonly #clock: Clock
  /** Names this process in leases. */
  readonly #owner: string
  /** What the answers of each account take. */
  readonly space: KeptSpace
  readonly #running = new Set<RunningClaim>()
  #renewal: NodeJS.Timeout | null = null
  #whenIdle: (() => void)[] = []
  #recordedBytes = 0

  constructor(options: { store: Store; clock: Clock; owner: string }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#owner = options.owner
    this.space = new KeptSpace(options.clock)
  }

  /** Takes the key or says what became of it. Throws `keyInUse` while others work under it. */
  async take(order: ClaimOrder): Promise<Taken> {
    for (let attempt = 0; attempt < claimAttempts; attempt++) {
      const row = await this.find(order.claim)
      const taken = row ? await this.#takeUp(order, row) : await this.#begin(order)
      if (taken) return taken
    }
    throw this.inUse()
  }

  /** What became of a claim that we lost to others. Throws `keyInUse` while they work. */
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

  /** Null where someone was faster. */
  async #begin({ claim, account, request, fingerprint, opening = [] }: ClaimOrder): Promise<Taken | null> {
    const set = { account, request, fingerprint, lease: this.#newLease() }
    const why = await this.#commit({ claim, from: null, fence: 0, set }, opening)
    if (why === null) return this.#ours({ id: claim, request, fence: 1, takenOver: false })
    return why === 'no_account' ? { state: 'no-account' } : null
  }

  /** Null where the claim moved while we looked at it. */
  async #takeUp({ claim, fingerprint }: ClaimOrder, row: NonNullable<ClaimRow>): Promise<Taken | null> {
    if (row.fingerprint !== fingerprint) return { state: 'other-request' }
    if (row.state === 'done') return this.#answer(claim)
    if (await this.#isAlive(claim, row)) throw this.inUse()
    const { request, fence } = row
    const why = await this.#commit({ claim, from: 'running', fence, set: { lease: this.#newLease() } })
    return why === null ? this.#ours({ id: claim, request, fence: fence + 1, takenOver: true }) : null
  }

  /**
   * Where nobody else writes, any other process that has a lease is dead. Elsewhere a lease has lapsed only by a clock
   * that can be trusted; our own has not while its work goes on, whatever a sleep or a jump made of the clock.
   */
  async #isAlive(claim: string, { lease_owner, lease_until_ms }: NonNullable<ClaimRow>): Promise<boolean> {
    if (lease_until_ms === null) return false
    const isLapsed = lease_until_ms <= this.#clock.now()
    if (lease_owner === this.#owner) return !isLapsed || [...this.#running].some(({ id }) => id === claim)
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
      onOver: over => this.#forget(over),
    })
    this.#running.add(claim)
    this.#renewal ??= setInterval(() => void this.renew(), claimRenewalMs).unref()
    return { state: 'ours', claim }
  }

  async renew(): Promise<void> {
    await Promise.all([...this.#running].map(claim => claim.renew()))
  }

  /** Resolves when no key's work is in flight. */
  async drain(): Promise<void> {
    if (this.#running.size) await new Promise<void>(resolve => this.#whenIdle.push(resolve))
    if (this.#renewal) clearInterval(this.#renewal)
    this.#renewal = null
  }

  /** Counts bytes that are kept in memory, negative ones when they go. False where there is no room: nothing was counted. */
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

  /** Why it was refused, null where it was not. */
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

  #forget(claim: RunningClaim): void {
    this.#running.delete(claim)
    if (this.#running.size) return
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }
}

/** How much of the disk the answers of each account take, as this process has kept them within a day. */
export class KeptSpace {
  readonly #clock: Clock
  readonly #used = new RecentMap<{ sinceMs: number; bytes: number }>(keptAccounts)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts an answer of so many bytes. False where there is no room for it: it is delivered and not kept. */
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
  onOver: (claim: RunningClaim) => void
}

/** A claim under this process's lease. Every move names the fence it saw, so a move after losing the lease is refused. */
export class RunningClaim {
  readonly id: string
  /** What is charged for the work, however often it is taken up again. */
  readonly request: string
  /** True where a process that died, or that gave up half-way, had begun the work before. */
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

  /** True once an answer has been handed to a commit: from then on that commit alone decides. */
  get kept(): boolean {
    return this.#kept
  }

  /** Moves the lease while the work is alive. Failing is harmless: ending the claim reports it. */
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

  /** The operation that ends the claim with this answer, for the commit that charges the work. */
  async keep(answer: string): Promise<MoveClaim> {
    this.#kept = true
    await this.#renewal
    return this.#move('done', { answer, lease: null })
  }

  /** Ends the claim by itself, where no charge could. False where the claim is another's by now. */
  async finish(answer: string): Promise<boolean> {
    return (await this.#commit(await this.keep(answer))).ok
  }

  /** Leaves nothing behind: the same key starts again. */
  async giveUp(): Promise<void> {
    await this.#renewal
    await this.#commit(this.#move('gone', {}))
  }

  /** Leaves the claim to the next request with the same key, which may then take it at once. */
  async leave(): Promise<void> {
    await this.#renewal
    await this.#commit(this.#move('running', { lease: null }))
  }

  /** Forgets it here; what is in the store stays. */
  over(): void {
    this.#parts.onOver(this)
  }

  #commit(move: MoveClaim): Promise<Outcome> {
    return commitSurely(this.#parts.store, { id: `${uuidV7(move.atMs)}/claim`, ops: [move] })
  }

  #move(to: MoveClaim['to'], set: ClaimFields): MoveClaim {
    const atMs = this.#parts.clock.now()
    return { op: 'claim', claim: this.id, from: 'running', to, fence: this.#fence, set, atMs }
  }
}
