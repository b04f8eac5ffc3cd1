import { type Outcome, type PruneSlice, type Store, StoreError } from '#ledger/store/store.ts'
import type { Unit } from '#ledger/store/units.ts'
import type { SimulatedDatabase } from './simulated-database.ts'
import type { StoreFaults } from './store-faults.ts'
import { answered, type Machine } from './virtual-machine.ts'

export interface SimulatedStoreOptions {
  machine: Machine
  database: SimulatedDatabase
  faults: StoreFaults
  soleOwner: boolean
  /** Sees every unit when it has been judged, before its answer leaves. */
  onApplied(unit: Unit, outcome: Outcome): void
  /** The process dies after writing, before any caller learns of it. */
  onKilled(): void
  /** Units that the database itself could not take: a broken rule of ours. */
  onFailed(unit: Unit, why: string): void
}

/** The store of one process: two waits a commit, before it is applied and before its answer comes, and a fault at either. */
export class SimulatedStore implements Store {
  readonly read: Store['read']
  readonly soleOwner: boolean
  readonly #options: SimulatedStoreOptions

  constructor(options: SimulatedStoreOptions) {
    this.#options = options
    this.soleOwner = options.soleOwner
    this.read = options.database.reader(value => this.#read(value))
  }

  commit(units: readonly Unit[]): Promise<Outcome[]> {
    const { machine, faults } = this.#options
    if (units.length === 0) return Promise.resolve([])
    const fault = faults.nextCommit(units)
    // A copy, as it would be on its way to another thread.
    const sent = structuredClone(units)
    return answered(
      machine,
      new Promise((resolve, reject) => {
        machine.after(faults.writeMs(), () => {
          // Who was killed before this moment has written nothing.
          if (!machine.isAlive) return
          if (fault?.when === 'before') return void machine.after(fault.answerMs, () => reject(fault.error))
          if (fault?.when === 'late') {
            machine.after(fault.appliedAfterMs, () => this.#apply(sent))
            return void machine.after(fault.answerMs, () => reject(fault.error))
          }
          const outcomes = this.#apply(sent)
          if (faults.killsNow()) return this.#options.onKilled()
          machine.after(fault?.answerMs ?? faults.answerMs(), () => {
            if (fault) reject(fault.error)
            else if (outcomes) resolve(outcomes)
            else reject(new StoreError('unit_failed', 'The database did not take a unit.'))
          })
        })
      }),
    )
  }

  async prune(slice: PruneSlice, rows: number): Promise<number> {
    const { machine, database } = this.#options
    return answered(machine, Promise.resolve(machine.isAlive ? database.prune(slice, rows) : 0))
  }

  async close(): Promise<void> {}

  #apply(units: readonly Unit[]): Outcome[] | null {
    const { database, onApplied, onFailed } = this.#options
    const outcomes: Outcome[] = []
    for (const [index, result] of database.commit(units).entries()) {
      const unit = units[index]
      if (!unit) continue
      if ('failed' in result) onFailed(unit, result.failed)
      else {
        outcomes.push(result)
        onApplied(unit, result)
      }
    }
    return outcomes.length === units.length ? outcomes : null
  }

  async #read<Value>(value: Value): Promise<Value> {
    const { machine, faults } = this.#options
    const fault = faults.nextRead()
    const waitMs = faults.readMs()
    if (waitMs === 0 && !fault) return answered(machine, Promise.resolve(value))
    return answered(
      machine,
      new Promise((resolve, reject) => {
        machine.after(waitMs, () => (fault ? reject(fault) : resolve(value)))
      }),
    )
  }
}
