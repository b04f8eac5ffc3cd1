import { entryRefs } from '../entry-refs.ts'
import type { Op } from '../units.ts'

/** What has to be locked before a batch is judged; see the function `lock_all`. */
export interface Locks {
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

/** Names that may have no row yet are locked by themselves; what belongs to an account is guarded by its row. */
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
    case 'credit':
      locks.accounts.add(op.account)
      locks.names.add(`ref:${op.ref}`)
      return
    case 'refund':
      locks.charges.add(entryRefs.charge(op.request))
      return
    case 'key':
      // So that two keys which come at once are counted one after the other.
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
  { op: 'account' | 'wallet' | 'key' | 'nonce' | 'payment' | 'claim' | 'limit' | 'ledger' | 'secret' | 'receiptKey' }
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
      // It has no name of its own, and a unit that is sent again must still wait for its first sending.
      return [`unit:${unitId}`]
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
