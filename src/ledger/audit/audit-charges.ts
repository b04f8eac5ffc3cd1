import type { AuditReader } from './audit-reader.ts'
import type { Findings } from './findings.ts'

/** Unit prices are in pico-USD. */
const picoPerMicro = 1_000_000n

/**
 * A request is charged by one set of lines, numbered from 0, on one account; no other entry may repeat a ref and line.
 */
export async function checkChargesOnce(reader: AuditReader, findings: Findings): Promise<void> {
  const requests = reader.rows<{ request: string | null; n: bigint }>(`
    SELECT request, count(*) AS n FROM entry WHERE kind = 'CHARGE' GROUP BY request
    HAVING count(*) <> count(DISTINCT line) OR max(line) <> count(*) - 1
      OR count(DISTINCT account) > 1 OR count(DISTINCT ref) > 1 OR count(DISTINCT created_at_ms) > 1`)
  for await (const { request, n } of requests) {
    const sentence = `Request ${request} has ${n} charged lines that are not one charge of one account.`
    findings.add('charged_twice', `${request}`, sentence)
  }
  const others = reader.rows<{ ref: string; n: bigint }>(
    `SELECT ref, count(*) AS n FROM entry WHERE kind <> 'CHARGE' GROUP BY ref HAVING count(*) > 1`,
  )
  for await (const { ref, n } of others)
    findings.add('charged_twice', ref, `${ref} was entered ${n} times; it may be entered once.`)
}

interface ChargedLine {
  id: string
  ref: string
  amount: bigint
  units: bigint | null
  price: bigint | null
}

/**
 * Each line must be the growth of the request's running total, in whole micro-USD rounded up: a request is rounded once
 * over all its lines, not per line.
 */
export async function checkCharges(reader: AuditReader, findings: Findings): Promise<void> {
  const lines = reader.rows<ChargedLine>(`
    SELECT id, ref, amount, units, unit_price_pico_usd AS price FROM entry WHERE kind = 'CHARGE' ORDER BY ref, line`)
  let ref = ''
  let picoUsd = 0n
  let expectedBefore = 0n
  for await (const line of lines) {
    if (line.ref !== ref) {
      ref = line.ref
      picoUsd = 0n
      expectedBefore = 0n
    }
    picoUsd += (line.units ?? 0n) * (line.price ?? 0n)
    const expectedTotal = picoUsd / picoPerMicro + (picoUsd % picoPerMicro === 0n ? 0n : 1n)
    const expected = expectedTotal - expectedBefore
    expectedBefore = expectedTotal
    if (line.amount !== expected) tellDifference(line, expected, findings)
  }
}

function tellDifference({ id, amount, units, price }: ChargedLine, expected: bigint, findings: Findings): void {
  const sentence = `Entry ${id} charged ${amount} micro-USD; ${units} units at ${price} pico-USD make ${expected}.`
  findings.add('charge_differs_from_price', id, sentence)
}

/** Every top-up must have its credited payment of that amount, and every credited payment its top-up. */
export async function checkPayments(reader: AuditReader, findings: Findings): Promise<void> {
  const topUps = reader.rows<{ id: string; ref: string; state: string | null; credited: bigint; paid: bigint | null }>(`
    SELECT e.id AS id, e.ref AS ref, e.amount AS credited, p.state AS state, p.amount AS paid FROM entry e
    LEFT JOIN payment p ON 'topup:' || p.id = e.ref
    WHERE e.kind = 'TOP_UP' AND (p.state IS NULL OR p.state <> 'credited' OR p.amount IS NULL OR p.amount <> e.amount)`)
  for await (const { id, ref, state, credited, paid } of topUps) {
    if (state === 'credited') {
      const sentence = `Entry ${id} credited ${credited} micro-USD; its payment was ${paid ?? 'of no known amount'}.`
      findings.add('payment_amount_differs', id, sentence)
    } else {
      const sentence = `Entry ${id} credited ${credited} micro-USD for ${ref}, whose payment is ${state ?? 'missing'}.`
      findings.add('top_up_without_payment', id, sentence)
    }
  }
  const payments = reader.rows<{ id: string }>(`
    SELECT id FROM payment WHERE state = 'credited'
      AND NOT EXISTS (SELECT 1 FROM entry WHERE kind = 'TOP_UP' AND ref = 'topup:' || payment.id)`)
  for await (const { id } of payments)
    findings.add('payment_not_credited', id, `Payment ${id} is marked as credited, but no entry credits it.`)
}

/** A failed job must be refunded; a refunded job must have failed (and may have been deleted since). */
export async function checkJobs(reader: AuditReader, findings: Findings): Promise<void> {
  const failed = reader.rows<{ id: string; request: string }>(`
    SELECT id, request FROM job WHERE state = 'failed'
      AND EXISTS (SELECT 1 FROM entry WHERE ref = 'charge:' || job.request)
      AND NOT EXISTS (SELECT 1 FROM entry WHERE ref = 'refund:' || job.request)`)
  for await (const { id, request } of failed)
    findings.add(
      'failed_job_not_refunded',
      id,
      `Job ${id} failed, but the charge of its request ${request} was not refunded.`,
    )
  const refunded = reader.rows<{ id: string; state: string }>(`
    SELECT id, state FROM job WHERE state <> 'failed' AND NOT (state = 'deleted' AND failure IS NOT NULL)
      AND EXISTS (SELECT 1 FROM entry WHERE ref = 'refund:' || job.request)`)
  for await (const { id, state } of refunded)
    findings.add('refunded_job_not_failed', id, `Job ${id} was refunded, but it is ${state}.`)
}

/** A hold ends once, and none stays open long after its lease, because recovery releases it. */
export async function checkHolds(reader: AuditReader, findings: Findings, expiredBeforeMs: number): Promise<void> {
  const both = reader.rows<{ id: string }>('SELECT id FROM hold WHERE id IN (SELECT id FROM ended_hold)')
  for await (const { id } of both)
    findings.add('hold_open_and_ended', id, `Hold ${id} is open, although it has already ended.`)
  const expired = reader.rows<{ id: string; account: string; amount: bigint; owner: string }>(
    `SELECT id, account, amount, lease_owner AS owner FROM hold WHERE lease_until_ms < ? ORDER BY lease_until_ms, id`,
    BigInt(Math.trunc(expiredBeforeMs)),
  )
  for await (const { id, account, amount, owner } of expired) {
    const sentence = `Hold ${id} of ${owner} keeps ${amount} micro-USD of ${account}, although its lease has ended.`
    findings.add('hold_expired', id, sentence)
  }
}

/**
 * An `Idempotency-Key` has its own request, charged to the account that claimed the key, and an answer once it is done.
 */
export async function checkClaims(reader: AuditReader, findings: Findings): Promise<void> {
  const shared = reader.rows<{ request: string; n: bigint }>(
    'SELECT request, count(*) AS n FROM claim GROUP BY request HAVING count(*) > 1',
  )
  for await (const { request, n } of shared)
    findings.add('claim_differs', request, `Request ${request} belongs to ${n} claims; it may belong to one.`)
  const rows = reader.rows<{ id: string; answers: bigint }>(`
    SELECT c.id AS id, (SELECT count(*) FROM claim_answer a WHERE a.claim = c.id) AS answers FROM claim c
    WHERE (c.state = 'done') <> EXISTS (SELECT 1 FROM claim_answer a WHERE a.claim = c.id)
      OR EXISTS (SELECT 1 FROM entry e WHERE e.ref = 'charge:' || c.request AND e.account <> c.account)`)
  for await (const { id, answers } of rows) {
    const sentence = `Claim ${id} has ${answers} answers, which its state does not allow, or was charged to another account.`
    findings.add('claim_differs', id, sentence)
  }
}
