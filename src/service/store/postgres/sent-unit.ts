import { microUsd } from '#contract/money.ts'
import { invalidOp } from '../invalid-op.ts'
import type { Balance, Outcome, Refusal, Unit } from '../units.ts'
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

/** What `commit_units` answers for one unit. */
export interface AnswerRow {
  again: boolean
  op: number | null
  why: Refusal | null
  balances: string | null
}

export function outcomeOf({ invalid }: SentUnit, { again, op, why, balances }: AnswerRow): Outcome {
  if (balances !== null) return { ok: true, again, balances: readBalances(balances) }
  if (why !== null) return { ok: false, op: op ?? 0, why }
  return invalidOutcome(invalid)
}

export const invalidOutcome = (op: number | null): Outcome => ({ ok: false, op: op ?? -1, why: 'invalid' })

const readBalances = (text: string): Balance[] =>
  (JSON.parse(text) as [string, string, string][]).map(([account, posted, held]) => ({
    account,
    posted: microUsd(BigInt(posted)),
    held: microUsd(BigInt(held)),
  }))
