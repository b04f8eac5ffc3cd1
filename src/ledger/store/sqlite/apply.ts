import type { DatabaseSync } from 'node:sqlite'
import { rateLimitLogRows } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import { invalidOp } from '../invalid-op.ts'
import type { Balance, Outcome, Refusal } from '../store.ts'
import type { Op, Unit } from '../units.ts'
import { accountAppliers } from './apply-accounts.ts'
import { entryAppliers, refundAppliers } from './apply-entries.ts'
import { fundsIn } from './apply-funds.ts'
import { holdAppliers, openHoldsIn } from './apply-holds.ts'
import { claimAppliers, jobAppliers, paymentAppliers } from './apply-moves.ts'
import { type Appliers, type Apply, balancesIn, type KnownRows, type Work } from './work.ts'

/**
 * Applies one unit inside the open transaction, whole or not at all. A unit that comes again, even in the same batch,
 * finds its first outcome; a refused one leaves nothing, so it is judged anew.
 */
export function unitApplier(database: DatabaseSync, known: KnownRows): (unit: Unit) => Outcome {
  const appliers = allAppliers(database, known)
  const outcomes = storedOutcomes(database)
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
    // An operation checks before it writes, so where it is alone a refusal has nothing to undo (a sixth of the time).
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

function allAppliers(database: DatabaseSync, known: KnownRows): Appliers<Op['op']> {
  const balances = balancesIn(database, known.accounts)
  const funds = fundsIn(database, known.keys)
  const holds = openHoldsIn(database, { balances, funds, known: known.holds })
  const books = { balances, funds, holds }
  return {
    ...accountAppliers(database, { keys: known.keys, funds }),
    ...holdAppliers(database, books),
    ...entryAppliers(database, books),
    ...refundAppliers(database, books),
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

function storedOutcomes(database: DatabaseSync) {
  const select = database.prepare('SELECT balances FROM unit WHERE id = ?')
  const insert = database.prepare('INSERT INTO unit (id, balances) VALUES (?, ?)')
  return {
    find(id: string): Balance[] | null {
      const row = select.get(id) as { balances: string } | undefined
      return row ? (JSON.parse(row.balances) as [string, string, string][]).map(readBalance) : null
    },
    store(id: string, balances: readonly Balance[]): void {
      const rows = balances.map(({ account, posted, held }) => [account, `${posted}`, `${held}`])
      insert.run(id, JSON.stringify(rows))
    },
  }
}

const readBalance = ([account, posted, held]: [string, string, string]): Balance => ({
  account,
  posted: microUsd(BigInt(posted)),
  held: microUsd(BigInt(held)),
})

function recordAppliers(database: DatabaseSync): Appliers<'nonce' | 'limit' | 'ledger' | 'secret' | 'receiptKey'> {
  const insertNonce = database.prepare('INSERT INTO nonce (id, expires_at_ms) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const insertLimit = database.prepare(
    'INSERT INTO limit_log (account, key, model, tier, type, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const dropOldLimits = database.prepare(
    `DELETE FROM limit_log WHERE account = ?1 AND seq <=
      (SELECT seq FROM limit_log WHERE account = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ${rateLimitLogRows})`,
  )
  const setLedger = database.prepare(
    `INSERT INTO ledger_state (one, state, reason, since_ms) VALUES (1, ?, ?, ?)
    ON CONFLICT DO UPDATE SET state = excluded.state, reason = excluded.reason, since_ms = excluded.since_ms`,
  )
  const insertSecret = database.prepare(
    `INSERT INTO secret_mark (generation, mark, place, since_ms) SELECT ?, ?, ?, ?
    WHERE ? = (SELECT coalesce(max(generation), 0) + 1 FROM secret_mark)`,
  )
  const insertReceiptKey = database.prepare(
    'INSERT INTO receipt_key (id, public_key, since_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  return {
    nonce(op) {
      return insertNonce.run(op.key, op.expiresAtMs).changes === 0 ? 'nonce_used' : null
    },
    limit(op) {
      insertLimit.run(op.account, op.key, op.model, op.tier, op.type, op.atMs)
      dropOldLimits.run(op.account)
      return null
    },
    ledger(op) {
      setLedger.run(op.state, op.reason, op.atMs)
      return null
    },
    secret({ generation, mark, place, atMs }) {
      return insertSecret.run(generation, mark, place, atMs, generation).changes === 0 ? 'secret_moved' : null
    },
    receiptKey({ key, publicKey, atMs }) {
      insertReceiptKey.run(key, publicKey, atMs)
      return null
    },
  }
}
