import { microUsd } from '#contract/money.ts'
import { invalidOp } from '../invalid-op.ts'
import type { Balance, Outcome, Refusal } from '../outcome.ts'
import type { Unit } from '../units.ts'
import { startsWithUuidV7 } from '../uuid-v7.ts'

/** A unit on its way to the database. */
export interface SentUnit {
  unit: Unit
  /** The operation that no store could apply; null where all is well. */
  invalid: number | null
  /** Nothing of it is applied: its id may have an outcome of an earlier sending, and only that is asked for. */
  isLookUp: boolean
}

/** Null where a unit need not travel: an id that could never be stored has no outcome either. */
export const sentUnit = (unit: Unit): SentUnit | null => {
  const invalid = invalidOp(unit)
  if (invalid === null) return { unit, invalid, isLookUp: false }
  return isStorableId(unit.id) ? { unit, invalid, isLookUp: true } : null
}

const isStorableId = (id: string): boolean => startsWithUuidV7(id) && !id.includes('\0') && id.isWellFormed()

/** What `commit_batch` answers, one place a unit in each; the last are its balances where it has been applied. */
type Answer = [again: boolean[], ops: (number | null)[], whys: (Refusal | null)[], balances: (BalanceRow[] | null)[]]

type BalanceRow = [account: string, posted: string, held: string]

export function outcomesOf(units: readonly SentUnit[], text: string): Outcome[] {
  const [again, ops, whys, balances] = JSON.parse(text) as Answer
  return units.map(({ invalid }, index): Outcome => {
    const rows = balances[index]
    if (rows) return { ok: true, again: again[index] === true, balances: rows.map(readBalance) }
    const why = whys[index]
    return why ? { ok: false, op: ops[index] ?? 0, why } : invalidOutcome(invalid)
  })
}

export const invalidOutcome = (op: number | null): Outcome => ({ ok: false, op: op ?? -1, why: 'invalid' })

const readBalance = ([account, posted, held]: BalanceRow): Balance => ({
  account,
  posted: microUsd(BigInt(posted)),
  held: microUsd(BigInt(held)),
})
