import { microUsd } from '#contract/money.ts'
import { invalidOp } from '../invalid-op.ts'
import type { Balance, Outcome, Refusal } from '../store.ts'
import { entryRefs, type Op, type Unit } from '../units.ts'
import { startsWithUuidV7 } from '../uuid-v7.ts'

/** A unit that the database is about to judge. */
export interface SentUnit {
  unit: Unit
  /** The operation that no store could apply; null if all are valid. */
  invalid: number | null
  /**
   * Nothing of it is applied. Its id may have an outcome from an earlier sending, which is all that the function looks
   * up.
   */
  isLookUp: boolean
}

/** Returns null if a unit need not be sent: an id that cannot be stored has no outcome either. */
export const sentUnit = (unit: Unit): SentUnit | null => {
  const invalid = invalidOp(unit)
  if (invalid === null) return { unit, invalid, isLookUp: false }
  return isStorableId(unit.id) ? { unit, invalid, isLookUp: true } : null
}

const isStorableId = (id: string): boolean => startsWithUuidV7(id) && !id.includes('\0') && id.isWellFormed()

/** The answer of `commit_batch`, one element per unit in each; the last are its balances if it was applied. */
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

/** What must be locked before a batch is judged; see the function `lock_all`. */
interface Locks {
  accounts: Set<string>
  holds: Set<string>
  keys: Set<string>
  charges: Set<string>
  jobs: Set<string>
  names: Set<string>
}

export const noLocks = (): Locks => ({
  accounts: new Set(),
  holds: new Set(),
  keys: new Set(),
  charges: new Set(),
  jobs: new Set(),
  names: new Set(),
})

/** Names that may have no row yet are locked themselves; rows of an account are guarded by the account's row. */
export function lockFor(op: Op, unitId: string, locks: Locks): void {
  switch (op.op) {
    case 'hold':
      locks.accounts.add(op.account)
      locks.names.add(`hold:${op.hold}`)
      return
    case 'extend':
    case 'renew':
    case 'release':
      locks.holds.add(op.hold)
      return
    case 'capture':
      locks.holds.add(op.hold)
      if (op.lines.length > 0) locks.names.add(`request:${op.request}`)
      return
    case 'customer':
    case 'suspend':
    case 'resume':
      locks.accounts.add(op.account)
      return
    case 'credit':
      locks.accounts.add(op.account)
      locks.names.add(`ref:${op.ref}`)
      return
    case 'refund':
      locks.charges.add(entryRefs.charge(op.request))
      return
    case 'key':
      // So that two concurrent new keys are counted one after the other.
      if (op.mostActive !== undefined) locks.accounts.add(op.account)
      for (const name of freeNamesOf(op, unitId)) locks.names.add(name)
      return
    case 'keyBudget':
    case 'revokeKey':
      locks.keys.add(op.key)
      return
    case 'job':
      locks.jobs.add(op.job)
      if (op.from === null) for (const name of [`job:${op.job}`, `paid:${op.set.request}`]) locks.names.add(name)
      return
    default:
      for (const name of freeNamesOf(op, unitId)) locks.names.add(name)
  }
}

type NamedOp = Extract<
  Op,
  {
    op:
      | 'account'
      | 'wallet'
      | 'key'
      | 'nonce'
      | 'payment'
      | 'claim'
      | 'limit'
      | 'act'
      | 'operator'
      | 'ledger'
      | 'secret'
      | 'receiptKey'
  }
>

function freeNamesOf(op: NamedOp, unitId: string): string[] {
  switch (op.op) {
    case 'account':
      return [`account:${op.account}`]
    case 'wallet':
      return [`wallet:${op.wallet}`]
    case 'key':
      return [`key:${op.key}`, `hash:${op.hash}`]
    case 'nonce':
      return [`nonce:${op.key}`]
    case 'payment':
      return [`payment:${op.payment}`]
    case 'claim':
      return [`claim:${op.claim}`]
    case 'limit':
    case 'act':
      // It has no name of its own, but a unit that is sent again must still wait for its first sending.
      return [`unit:${unitId}`]
    case 'operator':
      // One name for all, so that two owners cannot remove each other at once.
      return ['operators']
    case 'ledger':
      return ['ledger']
    case 'secret':
      return ['secret']
    case 'receiptKey':
      return [`receiptKey:${op.key}`]
    default:
      return []
  }
}
