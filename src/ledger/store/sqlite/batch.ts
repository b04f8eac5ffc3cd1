import type { DatabaseSync } from 'node:sqlite'
import { isAwayOfSqlite, isBusy } from '../away-reason.ts'
import type { Outcome } from '../outcome.ts'
import type { Unit } from '../units.ts'
import { unitApplier } from './apply.ts'
import { isBrokenRule } from './broken-rule.ts'
import { knownRows } from './known-rows.ts'

/** A unit that could not even be judged. It left no trace, unless it was the commit itself that failed. */
export interface Failed {
  failed: string
  unknown: boolean
  /** A rule of the tables refused it. */
  brokenRule: boolean
  /** The disk or the file, and not the unit. */
  away: boolean
}

export type UnitResult = Outcome | Failed

const failedBy = (error: unknown, unknown: boolean): Failed => ({
  failed: error instanceof Error ? error.message : String(error),
  unknown,
  brokenRule: isBrokenRule(error),
  away: isAwayOfSqlite(error),
})

/** Applies a batch under one COMMIT. Returns after the commit is on the disk. */
export function batchCommitter(database: DatabaseSync): (units: readonly Unit[]) => UnitResult[] {
  const known = knownRows(database)
  const apply = unitApplier(database, known)
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')

  let committing = false

  function commitTogether(units: readonly Unit[]): Outcome[] {
    committing = false
    begin.run()
    try {
      known.check()
      const outcomes = units.map(apply)
      committing = true
      commit.run()
      return outcomes
    } catch (error) {
      known.forget()
      // Some errors, a full disk among them, have ended the transaction already.
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }

  /** After a COMMIT of all that failed `wasCommitting`: what it wrote may be in the log, whatever fails now. */
  function commitAlone(unit: Unit, wasCommitting: boolean): UnitResult[] {
    try {
      return commitTogether([unit])
    } catch (error) {
      return [failedBy(error, committing || wasCommitting)]
    }
  }

  return units => {
    try {
      return commitTogether(units)
    } catch (error) {
      // Nothing was begun, and each unit alone would wait as long for whoever holds the file.
      if (isBusy(error)) return units.map(() => failedBy(error, false))
      // One bad unit must not fail the others. Repeating is safe: a unit that was committed after all answers again.
      const wasCommitting = committing
      return units.flatMap(unit => commitAlone(unit, wasCommitting))
    }
  }
}
