import type { DatabaseSync } from 'node:sqlite'
import { type Appliers, type Balances, prepareExact, type Work } from './work.ts'

export interface OpenHold {
  id: string
  account: string
  amount: bigint
  lease_owner: string
  lease_until_ms: bigint
}

export interface OpenHolds {
  find(id: string): OpenHold | null
  /** Frees the whole hold; `charged` of it leaves the account. */
  end(hold: OpenHold, how: 'captured' | 'released', charged: bigint, work: Work): void
}

export function openHoldsIn(database: DatabaseSync, balances: Balances): OpenHolds {
  const select = prepareExact(
    database,
    'SELECT id, account, amount, lease_owner, lease_until_ms FROM hold WHERE id = ?',
  )
  const remove = database.prepare('DELETE FROM hold WHERE id = ?')
  const insertEnded = database.prepare('INSERT INTO ended_hold (id, how) VALUES (?, ?)')
  return {
    find: id => (select.get(id) as OpenHold | undefined) ?? null,
    end(hold, how, charged, work) {
      const before = balances.read(hold.account, work)
      if (!before) throw new Error(`The account ${hold.account} of an open hold is missing.`)
      remove.run(hold.id)
      insertEnded.run(hold.id, how)
      balances.move(before, -charged, -hold.amount, work)
    },
  }
}

export function holdAppliers(
  database: DatabaseSync,
  balances: Balances,
  holds: OpenHolds,
): Appliers<'hold' | 'extend' | 'renew' | 'release'> {
  const idUsed = database.prepare('SELECT 1 FROM hold WHERE id = ?1 UNION ALL SELECT 1 FROM ended_hold WHERE id = ?1')
  const insert = database.prepare(
    'INSERT INTO hold (id, account, amount, lease_owner, lease_until_ms, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const grow = database.prepare('UPDATE hold SET amount = amount + ? WHERE id = ?')
  const renew = database.prepare('UPDATE hold SET lease_until_ms = ? WHERE id = ?')

  return {
    hold(op, work) {
      const balance = balances.read(op.account, work)
      if (!balance) return 'no_account'
      if (idUsed.get(op.hold)) return 'hold_exists'
      if (balance.posted - balance.held < op.amount) return 'insufficient_funds'
      insert.run(op.hold, op.account, op.amount, op.lease.owner, op.lease.untilMs, op.atMs)
      balances.move(balance, 0n, op.amount, work)
      return null
    },
    extend(op, work) {
      const hold = holds.find(op.hold)
      const balance = hold && balances.read(hold.account, work)
      if (!hold || !balance) return 'no_hold'
      if (balance.posted - balance.held < op.amount) return 'insufficient_funds'
      grow.run(op.amount, op.hold)
      balances.move(balance, 0n, op.amount, work)
      return null
    },
    renew(op) {
      const hold = holds.find(op.hold)
      if (!hold) return 'no_hold'
      if (hold.lease_owner !== op.lease.owner) return 'not_owner'
      renew.run(op.lease.untilMs, op.hold)
      return null
    },
    release(op, work) {
      const hold = holds.find(op.hold)
      if (!hold) return 'no_hold'
      if (op.onlyIfExpired && hold.lease_until_ms > BigInt(op.onlyIfExpired.atMs)) return 'lease_live'
      holds.end(hold, 'released', 0n, work)
      return null
    },
  }
}
