import type { Clock } from '#contract/time.ts'
import { commitSurely, type Outcome, type Store } from '#ledger/store/store.ts'
import type { ClaimFields, MoveClaim } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { claimLeaseMs } from './bounds.ts'

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

  /** Moves the lease while the work is alive. Failing is no harm: whoever ends the claim is told. */
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

  /** Leaves nothing behind: the same key begins anew. */
  async giveUp(): Promise<void> {
    await this.#renewal
    await this.#commit(this.#move('gone', {}))
  }

  /** Keeps the claim for whoever comes next with the same key and request, and does so at once. */
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
