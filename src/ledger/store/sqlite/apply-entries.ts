import type { DatabaseSync } from 'node:sqlite'
import { entryRefs } from '../entry-refs.ts'
import type { EntryTable } from '../tables.ts'
import type { Capture, Line } from '../units.ts'
import type { OpenHold, OpenHolds } from './apply-holds.ts'
import { chargeWriter, type EntryRow, entryWriter, noCause } from './entry-writer.ts'
import type { Appliers, Balances, Work } from './work.ts'

/** The writers of entries, but for refunds. Everything here moves money between a customer and one system account. */
export function entryAppliers(
  database: DatabaseSync,
  { balances, holds }: { balances: Balances; holds: OpenHolds },
): Appliers<'capture' | 'credit'> {
  const refExists = database.prepare('SELECT 1 FROM entry WHERE ref = ? LIMIT 1')
  const write = entryWriter(database)
  const writeLine = chargeWriter(database)

  return {
    capture(op, work) {
      const hold = holds.find(op.hold)
      const balance = hold && balances.read(hold.account, work)
      if (!hold || !balance) return 'no_hold'
      if (op.onlyIfExpired && hold.lease_until_ms > op.onlyIfExpired.atMs) return 'lease_live'
      if (op.lines.length > 0 && refExists.get(entryRefs.charge(op.request))) return 'request_charged'
      const charged = sumOf(op.lines) - (op.writeOff ?? 0n)
      if (charged > hold.amount) return 'over_hold'
      const staking = charged < hold.staking_usd ? charged : hold.staking_usd
      writeCharge(op, { hold, posted: balance.posted, staking, write, writeLine, work })
      const spent = { usd: charged - staking, staking }
      holds.end(hold, op.lines.length > 0 ? 'captured' : 'released', spent, work)
      return null
    },
    credit(op, work) {
      const balance = balances.read(op.account, work)
      if (!balance) return 'no_account'
      if (refExists.get(op.ref)) return 'ref_exists'
      const { account, amount, ref } = op
      const kind = op.source === 'system:grant' ? 'GRANT' : 'TOP_UP'
      const sides = { kind, account, debit: op.source, credit: account, amount } as const
      write({ ...noCause, ...sides, posted_after: balance.posted + amount, ref, created_at_ms: op.atMs }, work)
      balances.move(balance, amount, 0n, work)
      return null
    },
  }
}

const sumOf = (lines: readonly Line[]): bigint => lines.reduce((sum, line) => sum + line.amount, 0n)

interface Booking {
  hold: OpenHold
  posted: bigint
  staking: bigint
  write: ReturnType<typeof entryWriter>
  writeLine: ReturnType<typeof chargeWriter>
  work: Work
}

/** What others pay comes before the lines, so that no row leaves the balance below zero. */
function writeCharge(op: Capture, { hold, posted, staking, write, writeLine, work }: Booking): void {
  const { account, staking_day_ms, api_key, budget_period, budget_start_ms } = hold
  const counted = { api_key, budget_period, budget_start_ms }
  const { request, model } = op
  const writeOff = op.writeOff ?? 0n
  let after = posted
  const give = (row: Pick<EntryTable, 'kind' | 'debit' | 'ref'> & Partial<EntryRow>, amount: bigint) => {
    after += amount
    const cause = { request, model, ...counted, created_at_ms: op.atMs }
    write({ ...noCause, ...cause, account, credit: account, ...row, amount, posted_after: after }, work)
  }
  if (writeOff > 0n) {
    const ref = entryRefs.writeOff(request)
    give({ kind: 'WRITE_OFF', debit: 'system:writeoff', ref }, writeOff)
  }
  if (staking > 0n) {
    const day = { staking_day_ms }
    give({ kind: 'STAKING', debit: 'system:staking', ref: entryRefs.staking(request), ...day }, staking)
  }
  const ref = entryRefs.charge(request)
  for (const [line, { sku, units, unitPricePicoUsd, amount }] of op.lines.entries()) {
    after -= amount
    const usage = { line, sku, units, unit_price_pico_usd: unitPricePicoUsd, amount, posted_after: after }
    writeLine({ account, ref, request, model, ...usage, counted, created_at_ms: op.atMs }, work)
  }
}
