import type { DatabaseSync } from 'node:sqlite'
import { microUsd } from '#contract/money.ts'
import { invalidOp } from '../invalid-op.ts'
import { type Balance, isAwayOfSqlite, isBusy, type Outcome, type PruneSlice, type Refusal } from '../store.ts'
import type { Op, Unit } from '../units.ts'
import { entryAppliers, refundAppliers } from './apply-entries.ts'
import { fundsIn } from './apply-funds.ts'
import { holdAppliers, openHoldsIn } from './apply-holds.ts'
import {
  accountAppliers,
  claimAppliers,
  customerAppliers,
  jobAppliers,
  paymentAppliers,
  recordAppliers,
} from './apply-records.ts'
import { type Appliers, type Apply, accountNumbers, balancesIn, type KnownRows, knownRows, type Work } from './work.ts'

/** A unit that could not even be judged. It left no trace, unless the commit itself failed. */
export interface Failed {
  failed: string
  unknown: boolean
  /** A rule of the tables refused the unit. */
  brokenRule: boolean
  /** The disk or the file failed, not the unit. */
  away: boolean
}

export type UnitResult = Outcome | Failed

const failedBy = (error: unknown, unknown: boolean): Failed => ({
  failed: error instanceof Error ? error.message : String(error),
  unknown,
  brokenRule: isBrokenRule(error),
  away: isAwayOfSqlite(error),
})

/** Applies a batch in one COMMIT. Returns after the commit is on disk. */
export function batchCommitter(
  database: DatabaseSync,
  known = knownRows(database),
): (units: readonly Unit[]) => UnitResult[] {
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
      // Some errors, such as a full disk, have already ended the transaction.
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }

  /**
   * `wasCommitting` if the COMMIT of the whole batch failed before: what it wrote may be in the log, whatever fails
   * now.
   */
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
      // Nothing was started, and each single unit would wait just as long for the process that has locked the file.
      if (isBusy(error)) return units.map(() => failedBy(error, false))
      // One bad unit must not fail the others. Repeating is safe: a unit that was committed after all returns its
      // outcome again.
      const wasCommitting = committing
      return units.flatMap(unit => commitAlone(unit, wasCommitting))
    }
  }
}

/** SQLite's extended result codes of rules: CHECK, a trigger's RAISE, and UNIQUE. */
const constraintCheck = 275
const constraintTrigger = 1811
const constraintUnique = 2067

/** A rule of the tables refused a row. A unit checks before it writes, so consistent rows never cause this. */
function isBrokenRule(error: unknown): boolean {
  if (!(error instanceof Error && 'errcode' in error)) return false
  const { errcode, message } = error
  if (errcode === constraintCheck) return true
  // Only the message tells which rule or trigger it was; SQLite's message is in English, and the trigger's is ours.
  if (errcode === constraintTrigger) return message.includes('append-only')
  return errcode === constraintUnique && message.includes('entry_row.ref')
}

export function slicePruner(database: DatabaseSync): (slice: PruneSlice, rows: number) => number {
  const units = database.prepare('DELETE FROM unit WHERE id IN (SELECT id FROM unit WHERE id < ? ORDER BY id LIMIT ?)')
  const nonces = database.prepare(
    'DELETE FROM nonce WHERE id IN (SELECT id FROM nonce WHERE expires_at_ms < ? ORDER BY expires_at_ms LIMIT ?)',
  )
  // Answers are deleted with their claims. The claim of running work stays, however long the work takes.
  const claims = database.prepare(
    `DELETE FROM claim WHERE id IN (
      SELECT id FROM claim WHERE created_at_ms < ?1
        AND (state = 'done' OR lease_until_ms IS NULL OR lease_until_ms < ?1)
      ORDER BY created_at_ms LIMIT ?2)`,
  )
  const endedHolds = database.prepare(
    'DELETE FROM ended_hold WHERE id IN (SELECT id FROM ended_hold WHERE id < ? ORDER BY id LIMIT ?)',
  )
  // Two searches by index, because one condition with OR would scan the whole log.
  const limitLog = database.prepare(
    `DELETE FROM limit_log WHERE seq IN (
      SELECT seq FROM (SELECT seq FROM limit_log WHERE created_at_ms < ?1 ORDER BY created_at_ms LIMIT ?3)
      UNION
      SELECT seq FROM (SELECT seq FROM limit_log
        WHERE seq <= (SELECT max(seq) FROM limit_log) - ?2 ORDER BY seq LIMIT ?3)
      LIMIT ?3)`,
  )
  return (slice, rows) => {
    switch (slice.table) {
      case 'ended_hold':
        return Number(endedHolds.run(slice.beforeId, rows).changes)
      case 'unit':
        return Number(units.run(slice.beforeId, rows).changes)
      case 'nonce':
        return Number(nonces.run(slice.expiredBeforeMs, rows).changes)
      case 'claim':
        return Number(claims.run(slice.createdBeforeMs, rows).changes)
      case 'limit_log':
        return Number(limitLog.run(slice.createdBeforeMs, slice.keepNewest, rows).changes)
    }
  }
}

/**
 * Applies one unit inside the open transaction, completely or not at all. A repeated unit, even in the same batch,
 * finds its first outcome; a refused one leaves nothing, so it is judged again.
 */
function unitApplier(database: DatabaseSync, known: KnownRows): (unit: Unit) => Outcome {
  const numberOf = accountNumbers(database, known.numbers)
  const appliers = allAppliers(database, known, numberOf)
  const outcomes = storedOutcomes(database, numberOf)
  const savepoint = database.prepare('SAVEPOINT unit')
  const keep = database.prepare('RELEASE unit')
  const rollBack = database.prepare('ROLLBACK TO unit')
  const undo = () => {
    rollBack.run()
    keep.run()
  }

  return unit => {
    const first = outcomes.find(unit.id)
    if (first) return { ok: true, again: true, balances: first }
    const invalid = invalidOp(unit)
    if (invalid !== null) return { ok: false, op: invalid, why: 'invalid' }
    const work: Work = { unit: unit.id, balances: new Map(), entriesWritten: 0 }
    // An operation checks before it writes, so a single refused operation has nothing to undo, which saves a sixth of
    // the time.
    const undoable = unit.ops.length > 1
    if (undoable) savepoint.run()
    for (const [index, op] of unit.ops.entries()) {
      const why = applyOp(appliers, op, work)
      if (why === null) continue
      if (undoable) undo()
      if (index > 0) known.forget()
      return { ok: false, op: index, why }
    }
    const balances = [...work.balances.values()]
    outcomes.store(unit.id, balances)
    if (undoable) keep.run()
    return { ok: true, again: false, balances }
  }
}

function allAppliers(
  database: DatabaseSync,
  known: KnownRows,
  numberOf: (account: string) => bigint,
): Appliers<Op['op']> {
  const balances = balancesIn(database, known)
  const funds = fundsIn(database, known.keys)
  const holds = openHoldsIn(database, { balances, funds, known: known.holds })
  const shared = { balances, funds, holds, numberOf }
  return {
    ...accountAppliers(database, { keys: known.keys, funds }),
    ...customerAppliers(database, known.suspended),
    ...holdAppliers(database, shared),
    ...entryAppliers(database, shared),
    ...refundAppliers(database, shared),
    ...jobAppliers(database),
    ...paymentAppliers(database),
    ...claimAppliers(database),
    ...recordAppliers(database),
  }
}

function applyOp(appliers: Appliers<Op['op']>, op: Op, work: Work): Refusal | null {
  if (!Object.hasOwn(appliers, op.op)) return 'invalid'
  return (appliers[op.op] as Apply<Op>)(op, work)
}

/** An outcome is stored as `NUMBER:POSTED:HELD` per account, separated by spaces. */
function storedOutcomes(database: DatabaseSync, numberOf: (account: string) => bigint) {
  const select = database.prepare('SELECT balances FROM unit WHERE id = ?')
  const insert = database.prepare('INSERT INTO unit (id, balances) VALUES (?, ?)')
  const accountOf = database.prepare('SELECT account FROM account_number WHERE number = ?')

  function readBalance(text: string): Balance {
    const [number = '', posted = '', held = ''] = text.split(':')
    const account = String(accountOf.get(BigInt(number))?.account)
    return { account, posted: microUsd(BigInt(posted)), held: microUsd(BigInt(held)) }
  }

  return {
    find(id: string): Balance[] | null {
      const row = select.get(id) as { balances: string } | undefined
      if (!row) return null
      return row.balances.split(' ').filter(Boolean).map(readBalance)
    },
    store(id: string, balances: readonly Balance[]): void {
      insert.run(id, balances.map(({ account, posted, held }) => `${numberOf(account)}:${posted}:${held}`).join(' '))
    },
  }
}
