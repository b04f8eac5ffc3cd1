import type { DatabaseSync } from 'node:sqlite'
import type { EntryTable } from '../tables.ts'
import { type Capture, entryRefs, type Line } from '../units.ts'
import type { Funds, Sources } from './apply-funds.ts'
import type { OpenHolds } from './apply-holds.ts'
import { type Appliers, type Balances, type OpenHold, prepareExact, type Work } from './work.ts'

/** Writes all entries except refunds. Everything here moves money between a customer and one system account. */
export function entryAppliers(
  database: DatabaseSync,
  { balances, holds, numberOf }: { balances: Balances; holds: OpenHolds; numberOf: (account: string) => bigint },
): Appliers<'capture' | 'credit'> {
  const refExists = database.prepare('SELECT 1 FROM entry_row WHERE ref = ? LIMIT 1')
  const write = entryWriter(database)
  const writeLine = chargeWriter(database, numberOf)

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

/** The parts that others pay come before the lines, so that no row leaves a negative balance. */
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
  for (const [line, { sku, units, unitPricePicoUsd, amount }] of op.lines.entries()) {
    after -= amount
    const usage = { line, sku, units, unit_price_pico_usd: unitPricePicoUsd, amount, posted_after: after }
    writeLine({ account, request, model, ...usage, counted, created_at_ms: op.atMs }, work)
  }
}

/** An entry without the members that its position in the ledger determines. */
type EntryRow = Omit<EntryTable, 'seq' | 'id' | 'effect'>

type WriteEntry = (row: EntryRow, work: Work) => void

/** The cause of an entry that names none. */
const noCause = {
  line: 0,
  request: null,
  model: null,
  sku: null,
  units: null,
  unit_price_pico_usd: null,
  reason: null,
  api_key: null,
  budget_period: null,
  budget_start_ms: null,
  staking_day_ms: null,
} as const

interface ChargeRow {
  account: string
  amount: bigint
  posted_after: bigint
  line: number
  request: string
  model: string | null
  sku: string
  units: bigint
  unit_price_pico_usd: bigint
  /** From the hold: the key that called, and the period of its budget. */
  counted: Pick<EntryRow, 'api_key' | 'budget_period' | 'budget_start_ms'>
  created_at_ms: number
}

/**
 * Most entries are charges. They are written without the values that their row implies: their ref, both sides and
 * usually their id.
 */
function chargeWriter(
  database: DatabaseSync,
  numberOf: (account: string) => bigint,
): (row: ChargeRow, work: Work) => void {
  const insert = database.prepare(
    `INSERT INTO entry_row (kind, account_number, amount, posted_after, line, request, model, sku, units,
      unit_price_pico_usd, api_key, budget_period, budget_start_ms, created_at_ms, own_id)
    VALUES ('CHARGE', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)`,
  )
  return (row, work) => {
    const id = `${work.unit}.${work.entriesWritten++}`
    const { line, request, model, sku, units, counted } = row
    const { api_key, budget_period, budget_start_ms } = counted
    const place = [numberOf(row.account), row.amount, row.posted_after, line, request, model] as const
    insert.run(
      ...place,
      sku,
      units,
      row.unit_price_pico_usd,
      api_key,
      budget_period,
      budget_start_ms,
      row.created_at_ms,
      id === `${request}/capture.${line}` ? null : id,
    )
  }
}

function entryWriter(database: DatabaseSync): WriteEntry {
  const insert = database.prepare(
    `INSERT INTO entry (id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
      unit_price_pico_usd, reason, api_key, budget_period, budget_start_ms, staking_day_ms, created_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return (row, work) => {
    const { kind, account, debit, credit, amount, posted_after, ref, line, request, model } = row
    const id = `${work.unit}.${work.entriesWritten++}`
    const sides = [kind, account, debit, credit, amount, posted_after] as const
    const usage = [row.sku, row.units, row.unit_price_pico_usd, row.reason] as const
    const counted = [row.api_key, row.budget_period, row.budget_start_ms, row.staking_day_ms] as const
    insert.run(id, ...sides, ref, line, request, model, ...usage, ...counted, row.created_at_ms)
  }
}

type Charge = Pick<EntryTable, 'account' | 'model' | 'api_key' | 'budget_period'> & {
  charged: bigint
  budget_start_ms: bigint | null
}

const noLimits = { usd: null, staking: null }

/** Returns a charge to its sources. */
export function refundAppliers(
  database: DatabaseSync,
  { balances, funds }: { balances: Balances; funds: Funds },
): Appliers<'refund'> {
  const refExists = database.prepare('SELECT 1 FROM entry_row WHERE ref = ? LIMIT 1')
  const chargeOf = prepareExact(
    database,
    `SELECT min(account) AS account, min(model) AS model, min(api_key) AS api_key, min(budget_period) AS budget_period,
      min(budget_start_ms) AS budget_start_ms,
      sum(CASE kind WHEN 'CHARGE' THEN amount ELSE -amount END) AS charged
    FROM entry WHERE ref IN (?, ?) HAVING count(*) > 0`,
  )
  const stakingOf = prepareExact(database, 'SELECT amount, staking_day_ms FROM entry WHERE ref = ?')
  const write = entryWriter(database)

  return {
    refund(op, work) {
      const { request, reason } = op
      const refs = [entryRefs.charge(request), entryRefs.writeOff(request)] as const
      const charge = chargeOf.get(...refs) as Charge | undefined
      const balance = charge && balances.read(charge.account, work)
      if (!charge || !balance) return 'nothing_to_refund'
      if (refExists.get(entryRefs.refund(request))) return 'refunded'
      const { account, model, api_key, budget_period, charged } = charge
      const used = stakingOf.get(entryRefs.staking(request)) as { amount: bigint; staking_day_ms: bigint } | undefined
      const staking = used?.amount ?? 0n
      const startMs = charge.budget_start_ms === null ? null : Number(charge.budget_start_ms)
      const counted = { api_key, budget_period, budget_start_ms: startMs }
      const cause = { ...noCause, ...counted, account, request, model, reason, created_at_ms: op.atMs }
      const back = { kind: 'REFUND', debit: 'system:revenue', credit: account, ref: entryRefs.refund(request) } as const
      write({ ...cause, ...back, amount: charged, posted_after: balance.posted + charged }, work)
      if (used) {
        const day = { staking_day_ms: Number(used.staking_day_ms), ref: entryRefs.stakingBack(request) }
        const gone = { kind: 'STAKING', debit: account, credit: 'system:staking', ...day } as const
        write({ ...cause, ...gone, amount: staking, posted_after: balance.posted + charged - staking }, work)
      }
      const spent = { usd: charged - staking, staking }
      funds.giveBack(spent, sourcesOfCharge(charge, used?.staking_day_ms ?? null, startMs))
      balances.move(balance, spent.usd, 0n, work)
      return null
    },
  }
}

const sourcesOfCharge = (charge: Charge, dayMs: bigint | null, startMs: number | null): Sources => ({
  staking: dayMs === null ? null : { account: charge.account, dayMs: Number(dayMs), granted: 0n },
  budget:
    charge.api_key === null || charge.budget_period === null
      ? null
      : { key: charge.api_key, period: charge.budget_period, startMs: startMs ?? 0, limits: noLimits },
})
