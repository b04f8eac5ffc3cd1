import type { Selectable } from 'kysely'
import type { Clock } from '#contract/time.ts'
import type { EngineState } from '#engines/ports/media-engines.ts'
import { commitSurely, type Refusal, type Store } from '#ledger/store/store.ts'
import type { JobTable } from '#ledger/store/tables.ts'
import type { JobFields, JobState, Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { freedJobs, type JobFailure, jobLeaseMs, jobRenewalMs } from './jobs.ts'

/** Why the ledger may have nothing to refund: it was refunded before, or nothing was charged. */
const settledBefore: readonly Refusal[] = ['refunded', 'nothing_to_refund']

/** The ledger refused a move for a reason that a retry does not change. */
class MoveRefused extends Error {
  readonly why: Refusal

  constructor(why: Refusal, words: string) {
    super(words)
    this.name = 'MoveRefused'
    this.why = why
  }
}

/** The row's lease was lost: another process took it over while this one was paused. */
export class LeaseLost extends Error {}

/** Columns that are needed to run a job; its input is read only once the lease is ours. */
export const leasedColumns = ['id', 'model', 'request', 'state', 'fence', 'engine_state', 'created_at_ms'] as const

type LeasedRow = Pick<Selectable<JobTable>, (typeof leasedColumns)[number]>

/** A job under this process's lease. Every move compares the fence, so a move after losing the lease is refused. */
export class LeasedJob {
  readonly id: string
  readonly model: string
  readonly createdAtMs: number
  readonly #request: string
  readonly #store: Store
  readonly #clock: Clock
  readonly #owner: string
  #state: JobState
  #fence: number
  #leaseUntilMs = 0
  #engineState: string | null
  #input: unknown = null

  constructor(row: LeasedRow, store: Store, clock: Clock, owner: string) {
    this.id = row.id
    this.model = row.model
    this.createdAtMs = row.created_at_ms
    this.#request = row.request
    this.#state = row.state
    this.#fence = row.fence
    this.#engineState = row.engine_state
    this.#store = store
    this.#clock = clock
    this.#owner = owner
  }

  get engineState(): EngineState | null {
    return this.#engineState === null ? null : JSON.parse(this.#engineState)
  }

  /** Returns the input as it was stored; null if it is gone. */
  async input(): Promise<unknown> {
    this.#input ??= await this.#readInput()
    return this.#input
  }

  async #readInput(): Promise<unknown> {
    const row = await this.#store.read
      .selectFrom('job_input')
      .select('input')
      .where('job', '=', this.id)
      .executeTakeFirst()
    return row ? JSON.parse(row.input) : null
  }

  /** Returns false if another process was faster. */
  async claim(): Promise<boolean> {
    try {
      await this.#run({})
      return true
    } catch (error) {
      if (error instanceof LeaseLost) return false
      throw error
    }
  }

  /** Writes only changes, or an extension of a lease that is growing old. */
  async keep(engineState: EngineState | null): Promise<void> {
    const text = engineState === null ? this.#engineState : JSON.stringify(engineState)
    const old = this.#leaseUntilMs - this.#clock.now() < jobLeaseMs - jobRenewalMs
    if (text === this.#engineState && !old) return
    await this.#run(text === null ? {} : { engineState: text })
    this.#engineState = text
  }

  /** Takes or renews the lease. The job of a suspended account fails instead, and is refunded. */
  async #run(set: JobFields): Promise<void> {
    const lease = { owner: this.#owner, untilMs: this.#clock.now() + jobLeaseMs }
    try {
      await this.move('running', { lease, ...set })
      this.#leaseUntilMs = lease.untilMs
    } catch (error) {
      if (!(error instanceof MoveRefused) || error.why !== 'suspended') throw error
      await this.fail({ reason: 'API access has been disabled for this account.', contentPolicy: false })
      throw new LeaseLost(`The account of job ${this.id} is suspended.`)
    }
  }

  /**
   * Stores the failure and refunds the charge in one unit of work, and deletes the input. Returns false if there was
   * nothing left to refund: the failure is stored anyway, because otherwise the job would be tried again for ever.
   */
  async fail(failure: JobFailure): Promise<boolean> {
    const refund: Op = { op: 'refund', request: this.#request, reason: failure.reason, atMs: this.#clock.now() }
    const set = { failure: JSON.stringify(failure), input: null, lease: null }
    try {
      await this.move('failed', set, [refund])
      return true
    } catch (error) {
      if (!(error instanceof MoveRefused) || !settledBefore.includes(error.why)) throw error
      await this.move('failed', set)
      return false
    }
  }

  async move(to: JobState, set: JobFields, beside: readonly Op[] = []): Promise<void> {
    const atMs = this.#clock.now()
    const move: Op = { op: 'job', job: this.id, from: this.#state, to, fence: this.#fence, set, atMs }
    const outcome = await commitSurely(this.#store, { id: `${uuidV7(atMs)}/job`, ops: [move, ...beside] })
    if (!outcome.ok) {
      const words = `Job ${this.id} could not become ${to}: ${outcome.why}.`
      throw outcome.why === 'job_moved' ? new LeaseLost(words) : new MoveRefused(outcome.why, words)
    }
    this.#state = to
    this.#fence += 1
  }
}

/**
 * At startup, if no other process writes, leases of another owner belong to a dead process and are freed at once. The
 * fence refuses to move a job that has changed since it was read.
 */
export async function freeDeadJobs({ store, clock, owner }: { store: Store; clock: Clock; owner: string }) {
  while (store.soleOwner) {
    const dead = await store.read
      .selectFrom('job')
      .select(['id', 'state', 'fence'])
      .where('state', 'in', ['queued', 'running'])
      .where('lease_owner', '!=', owner)
      .limit(freedJobs)
      .execute()
    const atMs = clock.now()
    const outcomes = await store.commit(
      dead.map(({ id, state, fence }) => ({
        id: `${uuidV7(atMs)}/free`,
        ops: [{ op: 'job', job: id, from: state, to: state, fence, set: { lease: null }, atMs }],
      })),
    )
    if (!outcomes.some(outcome => outcome.ok)) return
  }
}
