import type { SQLOutputValue } from 'node:sqlite'
import { type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import type { ReceiptKeys } from '#contract/operations/receipts.ts'
import type { ChargeReceipt } from '#toolkit/tool-context.ts'
import { type KnownCall, readReceipt } from '#wallet/receipts.ts'
import type { State } from '#wallet/records/state.ts'
import { textOrNull } from '#wallet/records/state-rows.ts'
import { keptReceipts } from '../bounds.ts'
import { AgentTables, exactly, keptAmount, openAgentState } from '../state/schema.ts'

/**
 * `unsigned`: the service sent none. `unchecked`: its keys could not be fetched yet. `differs`: validly signed, but not
 * what the answer or the price says. `unverified`: the signer is unknown.
 */
type ReceiptState = 'unsigned' | 'unchecked' | 'verified' | 'differs' | 'unverified'

export interface ReceiptRow extends Omit<KnownCall, 'kind'> {
  /** `charge:` or `refund:` and the request; for a call without a request id, a name of its own. */
  id: string
  state: ReceiptState
  /** What is wrong with the receipt, as one sentence. */
  problem: string | null
  receipt: string | null
  /** What was bought, in our words; null if the receipt was fetched later. */
  what: string | null
  /** The row of the paid call; also null if it was fetched later. */
  call: string | null
  /** The tool that bought it; null for a program's request, and for what was fetched later. */
  tool: string | null
  atMs: number
}

export class ReceiptRows {
  readonly #tables: AgentTables

  constructor(state: State) {
    this.#tables = new AgentTables(state)
  }

  /**
   * Keeps the first receipt with an id; beyond the limit, the service's oldest are dropped. `comesLater`: no receipt
   * could come with the answer.
   */
  add(row: ReceiptRow, comesLater = false): void {
    this.#tables.decide(db => {
      db.prepare(
        `INSERT INTO charge_receipts (service, id, state, problem, receipt, what, request, operation, model,
           said_micro_usd, most_micro_usd, at_ms, call_id, tool, comes_later)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      ).run(
        ...([row.service, row.id, row.state, row.problem, row.receipt, row.what, row.request, row.operation] as const),
        ...([row.model, row.saidMicroUsd, row.mostMicroUsd, row.atMs, row.call, row.tool] as const),
        comesLater ? 1 : 0,
      )
      db.prepare(
        `DELETE FROM charge_receipts WHERE rowid IN (
           SELECT rowid FROM charge_receipts WHERE service = ?
           ORDER BY at_ms DESC, rowid DESC LIMIT -1 OFFSET ${keptReceipts})`,
      ).run(row.service)
    })
  }

  judge(
    { service, id }: Pick<ReceiptRow, 'service' | 'id'>,
    verdict: Pick<ReceiptRow, 'state' | 'problem' | 'receipt'>,
  ) {
    this.#tables.decide(db => {
      db.prepare('UPDATE charge_receipts SET state = ?, problem = ?, receipt = ? WHERE service = ? AND id = ?').run(
        verdict.state,
        verdict.problem,
        verdict.receipt,
        service,
        id,
      )
    })
  }

  find(service: string, id: string): ReceiptRow | null {
    const row = this.#tables.decide(db =>
      exactly(db, 'SELECT * FROM charge_receipts WHERE service = ? AND id = ?').get(service, id),
    )
    return row ? read(row) : null
  }

  /** Returns the receipt of a paid call, by its row. */
  ofCall(call: string): ReceiptRow | null {
    const row = this.#tables.decide(db => exactly(db, 'SELECT * FROM charge_receipts WHERE call_id = ?').get(call))
    return row ? read(row) : null
  }

  /** Newest first, from all services or one. */
  list(limit: number, service: string | null = null): ReceiptRow[] {
    // Two statements, because each can use an index, and a combined condition could not.
    const [of, values] = service === null ? ['', [limit]] : ['WHERE service = ?', [service, limit]]
    const newest = `SELECT * FROM charge_receipts ${of} ORDER BY at_ms DESC, rowid DESC LIMIT ?`
    return this.#tables.decide(db => exactly(db, newest).all(...values)).map(read)
  }

  /** Returns a service's receipts that wait for its keys, newest first. */
  unchecked(service: string, limit: number): ReceiptRow[] {
    const newest = `SELECT * FROM charge_receipts WHERE service = ? AND state = 'unchecked'
      ORDER BY at_ms DESC, rowid DESC LIMIT ?`
    return this.#tables.decide(db => exactly(db, newest).all(service, limit)).map(read)
  }

  /** Returns whether a service omitted the receipt in an answer that could have had one. */
  hasRefused(service: string): boolean {
    const missing = `SELECT 1 FROM charge_receipts WHERE service = ? AND state = 'unsigned' AND comes_later = 0 LIMIT 1`
    return this.#tables.decide(db => db.prepare(missing).get(service)) !== undefined
  }

  /** Returns a service's public keys by name, as first seen. */
  keysOf(service: string): ReadonlyMap<string, string> {
    const rows = this.#tables.decide(db =>
      db.prepare('SELECT id, public_key FROM receipt_keys WHERE service = ?').all(service),
    )
    return new Map(rows.map(row => [String(row.id), String(row.public_key)]))
  }

  /** A known key stays as it was first seen. */
  pinKeys(service: string, keys: ReceiptKeys['keys'], nowMs: number): void {
    this.#tables.decide(db => {
      const insert = db.prepare(
        `INSERT INTO receipt_keys (service, id, public_key, first_seen_at_ms) VALUES (?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      )
      for (const { kid, x } of keys) insert.run(service, kid, x, nowMs)
    })
  }
}

/** Returns the kind in a row's id. */
export const kindOf = ({ id }: Pick<ReceiptRow, 'id'>): KnownCall['kind'] =>
  id.startsWith('refund:') ? 'refund' : 'charge'

const read = (row: Record<string, SQLOutputValue>): ReceiptRow => ({
  service: String(row.service),
  id: String(row.id),
  state: row.state as ReceiptState,
  problem: textOrNull(row.problem),
  receipt: textOrNull(row.receipt),
  what: textOrNull(row.what),
  call: textOrNull(row.call_id),
  tool: textOrNull(row.tool),
  request: textOrNull(row.request),
  operation: textOrNull(row.operation),
  model: textOrNull(row.model),
  saidMicroUsd: keptAmount(row.said_micro_usd),
  mostMicroUsd: keptAmount(row.most_micro_usd),
  atMs: Number(row.at_ms),
})

/** A stored charge for its owner's own accounting: with who charged it, and the receipt as signed. */
export interface KeptCharge extends ChargeReceipt {
  /** Base URL of the service. */
  service: string
  tool: string | null
  /** Null if the service sent no receipt. */
  receipt: string | null
}

/** Returns the charges in a data folder, newest first, without any request. */
export function keptCharges(folder: string, limit: number): KeptCharge[] {
  const state = openAgentState(folder)
  try {
    return new ReceiptRows(state).list(limit).map(keptCharge)
  } finally {
    state.close()
  }
}

export const keptCharge = (row: ReceiptRow): KeptCharge => ({
  ...chargeReceipt(row),
  service: row.service,
  tool: row.tool,
  receipt: row.receipt,
})

/** Formats a stored receipt: the signed values, or those of the answer if there is no receipt. */
export function chargeReceipt(row: ReceiptRow): ChargeReceipt {
  const claims = row.receipt === null ? null : (readReceipt(row.receipt)?.claims ?? null)
  const said = (text: string | undefined): MicroUsd | null => (text === undefined ? null : microUsd(BigInt(text)))
  return {
    id: row.id,
    kind: kindOf(row),
    atMs: row.atMs,
    state: row.state,
    amountMicroUsd: said(claims?.amount_micro_usd) ?? row.saidMicroUsd,
    stakingMicroUsd: said(claims?.paid_with.diem) ?? zeroUsd,
    what: row.what,
    model: claims?.model ?? row.model,
    usage: claims?.lines.map(({ sku, units }) => ({ sku, units })) ?? [],
    problem: row.problem,
  }
}
