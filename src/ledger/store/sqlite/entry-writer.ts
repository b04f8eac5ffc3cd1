import type { DatabaseSync } from 'node:sqlite'
import type { EntryTable } from '../tables.ts'
import type { Work } from './work.ts'

/** An entry without what its place in the books makes of it. */
export type EntryRow = Omit<EntryTable, 'seq' | 'id' | 'effect'>

type WriteEntry = (row: EntryRow, work: Work) => void

/** What an entry says of its cause where there is nothing to say. */
export const noCause = {
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

/** One line of what a request is charged. */
export interface ChargeRow {
  account: string
  amount: bigint
  posted_after: bigint
  ref: string
  line: number
  request: string
  model: string | null
  sku: string
  units: bigint
  unit_price_pico_usd: bigint
  /** The hold's own: the key that called, and the period of its budget. */
  counted: Pick<EntryRow, 'api_key' | 'budget_period' | 'budget_start_ms'>
  created_at_ms: number
}

/** Most entries are charges: to bind only what differs among them makes a capture a twentieth cheaper. */
export function chargeWriter(database: DatabaseSync): (row: ChargeRow, work: Work) => void {
  const insert = database.prepare(
    `INSERT INTO entry (id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
      unit_price_pico_usd, api_key, budget_period, budget_start_ms, created_at_ms)
    VALUES (?1, 'CHARGE', ?2, ?2, 'system:revenue', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`,
  )
  return (row, work) => {
    const id = `${work.unit}.${work.entriesWritten++}`
    const { ref, line, request, model, sku, units, counted } = row
    const { api_key, budget_period, budget_start_ms } = counted
    const place = [id, row.account, row.amount, row.posted_after, ref, line, request, model] as const
    insert.run(
      ...place,
      sku,
      units,
      row.unit_price_pico_usd,
      api_key,
      budget_period,
      budget_start_ms,
      row.created_at_ms,
    )
  }
}

export function entryWriter(database: DatabaseSync): WriteEntry {
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
