import type { DatabaseSync } from 'node:sqlite'
import type { Outcome, Unit } from '../units.ts'
import { unitApplier } from './apply.ts'
import { isBrokenRule } from './broken-rule.ts'

/** A unit that could not even be judged. It left no trace, unless it was the commit itself that failed. */
export interface Failed {
  failed: string
  unknown: boolean
  /** A rule of the tables refused it. */
  brokenRule: boolean
}

export type UnitResult = Outcome | Failed

/** Applies a batch under one COMMIT. Returns after the commit is on the disk. */
export function batchCommitter(database: DatabaseSync): (units: readonly Unit[]) => UnitResult[] {
  const apply = unitApplier(database)
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')

  let committing = false

  function commitTogether(units: readonly Unit[]): Outcome[] {
    committing = false
    begin.run()
    try {
      const outcomes = units.map(apply)
      committing = true
      commit.run()
      return outcomes
    } catch (error) {
      // Some errors, a full disk among them, have ended the transaction already.
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }

  function commitAlone(unit: Unit): UnitResult[] {
    try {
      return commitTogether([unit])
    } catch (error) {
      const failed = error instanceof Error ? error.message : String(error)
      return [{ failed, unknown: committing, brokenRule: isBrokenRule(error) }]
    }
  }

  return units => {
    try {
      return commitTogether(units)
    } catch {
      // One bad unit must not fail the others. Repeating is safe: a unit that was committed after all answers again.
      return units.flatMap(commitAlone)
    }
  }
}
