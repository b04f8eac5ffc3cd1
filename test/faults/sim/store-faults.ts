import { StoreError } from '#ledger/store/store.ts'
import type { Unit } from '#ledger/store/units.ts'
import type { Seeded } from '../seeded.ts'

export interface CommitFault {
  /** Before: nothing was written. After: it was, and the answer is lost. Late: it is written after the caller has given up. */
  when: 'before' | 'after' | 'late'
  answerMs: number
  appliedAfterMs: number
  error: StoreError
}

export type StoreFault = CommitFault['when'] | 'full' | 'read'

const kinds = ['before', 'before', 'after', 'after', 'late'] as const

/** What goes wrong with the store of one process. A fault is marked, so that its consequences are told from mistakes. */
export class StoreFaults {
  readonly #draws: Seeded
  readonly #nowMs: () => number
  readonly #onFault: (what: StoreFault, units: readonly Unit[]) => void
  /** Commits until the armed fault; each is used once. */
  #armed: { inCommits: number; when: CommitFault['when'] }[] = []
  #armedReads = 0
  /** Commits until the process dies with one; −1 for never. */
  #killInCommits = -1
  #outageUntilMs = 0
  #slowUntilMs = 0

  constructor(draws: Seeded, nowMs: () => number, onFault: (what: StoreFault, units: readonly Unit[]) => void) {
    this.#draws = draws
    this.#nowMs = nowMs
    this.#onFault = onFault
  }

  /** One of the next commits fails. */
  arm(): string {
    const inCommits = this.#draws.below(4)
    const when = this.#draws.pick(kinds) ?? 'before'
    this.#armed.push({ inCommits, when })
    return `commit ${inCommits + 1} from now fails ${when}`
  }

  armRead(): string {
    this.#armedReads = 1 + this.#draws.below(5)
    return `read ${this.#armedReads} from now fails`
  }

  /** The process will die right after one of its next commits. */
  armKill(): string {
    this.#killInCommits = this.#draws.below(6)
    return `dies with commit ${this.#killInCommits + 1} from now`
  }

  killsNow(): boolean {
    if (this.#killInCommits < 0) return false
    return this.#killInCommits-- === 0
  }

  /** A full disk: every commit fails for so long. */
  outage(ms: number): string {
    this.#outageUntilMs = this.#nowMs() + ms
    return `takes no commit for ${ms} ms`
  }

  slow(ms: number): string {
    this.#slowUntilMs = this.#nowMs() + ms
    return `commits slowly for ${ms} ms`
  }

  heal(): void {
    this.#armed = []
    this.#armedReads = 0
    this.#killInCommits = -1
    this.#outageUntilMs = 0
    this.#slowUntilMs = 0
  }

  get isOut(): boolean {
    return this.#nowMs() < this.#outageUntilMs
  }

  nextCommit(units: readonly Unit[]): CommitFault | null {
    if (this.isOut) {
      this.#onFault('full', units)
      return this.#fault('before', 'unit_failed')
    }
    const due = this.#armed.findIndex(({ inCommits }) => inCommits === 0)
    for (const each of this.#armed) each.inCommits--
    if (due === -1) return null
    const [fault] = this.#armed.splice(due, 1)
    const when = fault?.when ?? 'before'
    const harmless = when === 'before' && this.#draws.once(2)
    this.#onFault(when, units)
    return this.#fault(when, harmless ? 'queue_full' : 'outcome_unknown')
  }

  nextRead(): StoreError | null {
    if (this.#armedReads === 0 || --this.#armedReads > 0) return null
    this.#onFault('read', [])
    return new StoreError('closed', 'Simulated: a read failed.')
  }

  /** From the call until it is written. */
  writeMs(): number {
    return this.#waitMs()
  }

  /** From there until the caller knows. */
  answerMs(): number {
    return this.#waitMs()
  }

  readMs(): number {
    return this.#draws.once(4) ? this.#draws.below(4) : 0
  }

  #waitMs(): number {
    if (this.#nowMs() < this.#slowUntilMs) return 1_000 + this.#draws.below(15_000)
    return this.#draws.below(4)
  }

  #fault(when: CommitFault['when'], kind: StoreError['kind']): CommitFault {
    const error = new StoreError(kind, `Simulated: a commit failed, ${when}.`)
    return { when, answerMs: this.#draws.below(50), appliedAfterMs: 50 + this.#draws.below(10_000), error }
  }
}
