import type { DatabaseSync } from 'node:sqlite'
import type { EntryTable } from '../tables.ts'
import type { OpenHolds } from './apply-holds.ts'
import { type Appliers, type Balances, prepareExact, type Work } from './work.ts'

type Row = Omit<EntryTable, 'seq' | 'id' | 'effect'>

/** What only a charge's line says. */
const noUsage = { sku: null, units: null, unit_price_pico_usd: null } as const

/** The only writers of entries. Every operation here moves money between a customer and one system account. */
export function entryAppliers(
  database: DatabaseSync,
  balances: Balances,
  holds: OpenHolds,
): Appliers<'capture' | 'credit' | 'refund'> {
  const refExists = database.prepare('SELECT 1 FROM entry WHERE ref = ? LIMIT 1')
  const chargeOf = prepareExact(
    database,
    `SELECT min(account) AS account, min(model) AS model, sum(amount) AS amount FROM entry WHERE ref = ? HAVING count(*) > 0`,
  )
  const write = entryWriter(database)

  return {
    capture(op, work) {
      const hold = holds.find(op.hold)
      const balance = hold && balances.read(hold.account, work)
      if (!hold || !balance) return 'no_hold'
      const ref = `charge:${op.request}`
      if (op.lines.length > 0 && refExists.get(ref)) return 'request_charged'
      const total = op.lines.reduce((sum, line) => sum + line.amount, 0n)
      if (total > hold.amount) return 'over_hold'
      const { request, model } = op
      const shared = { kind: 'CHARGE', account: hold.account, debit: hold.account, credit: 'system:revenue' } as const
      let posted: bigint = balance.posted
      for (const [line, { sku, units, unitPricePicoUsd, amount }] of op.lines.entries()) {
        posted -= amount
        const usage = { sku, units, unit_price_pico_usd: unitPricePicoUsd, reason: null }
        write(
          { ...shared, amount, posted_after: posted, ref, line, request, model, ...usage, created_at_ms: op.atMs },
          work,
        )
      }
      holds.end(hold, op.lines.length > 0 ? 'captured' : 'released', total, work)
      return null
    },
    credit(op, work) {
      const balance = balances.read(op.account, work)
      if (!balance) return 'no_account'
      if (refExists.get(op.ref)) return 'ref_exists'
      const { account, amount, ref } = op
      const kind = op.source === 'system:grant' ? 'GRANT' : 'TOP_UP'
      const sides = { kind, account, debit: op.source, credit: account, amount } as const
      const cause = { ref, line: 0, request: null, model: null, reason: null, ...noUsage }
      write({ ...sides, posted_after: balance.posted + amount, ...cause, created_at_ms: op.atMs }, work)
      balances.move(balance, amount, 0n, work)
      return null
    },
    refund(op, work) {
      const charge = chargeOf.get(`charge:${op.request}`) as Pick<Row, 'account' | 'model' | 'amount'> | undefined
      const balance = charge && balances.read(charge.account, work)
      if (!charge || !balance) return 'nothing_to_refund'
      const ref = `refund:${op.request}`
      if (refExists.get(ref)) return 'refunded'
      const { account, model, amount } = charge
      const sides = { kind: 'REFUND', account, debit: 'system:revenue', credit: account, amount } as const
      const cause = { ref, line: 0, request: op.request, model, reason: op.reason, ...noUsage }
      write({ ...sides, posted_after: balance.posted + amount, ...cause, created_at_ms: op.atMs }, work)
      balances.move(balance, amount, 0n, work)
      return null
    },
  }
}

function entryWriter(database: DatabaseSync): (row: Row, work: Work) => void {
  const insert = database.prepare(
    `INSERT INTO entry (id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
      unit_price_pico_usd, reason, created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return (row, work) => {
    const { kind, account, debit, credit, amount, posted_after, ref, line, request, model } = row
    const usage = [row.sku, row.units, row.unit_price_pico_usd] as const
    const id = `${work.unit}.${work.entriesWritten++}`
    const sides = [kind, account, debit, credit, amount, posted_after] as const
    insert.run(id, ...sides, ref, line, request, model, ...usage, row.reason, row.created_at_ms)
  }
}
