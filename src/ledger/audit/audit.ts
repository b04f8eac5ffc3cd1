import { type Clock, systemClock } from '#contract/time.ts'
import {
  checkBalances,
  checkDaySums,
  checkEntries,
  checkHistory,
  checkKeyUse,
  checkRequests,
  checkStakingCredit,
  checkSum,
} from './audit-balances.ts'
import { type AuditReader, sqliteAuditReader } from './audit-reader.ts'
import { type AuditFinding, Findings } from './findings.ts'

/** The result of an audit. Amounts are micro-USD. */
export interface AuditReport {
  /** True if there are no findings. */
  ok: boolean
  counts: AuditCounts
  /** Sums of the system accounts. No balance is stored for them, so they are only computed here. */
  systemMicroUsd: Record<string, bigint>
  /** The sum of all differences, regardless of sign, between stored balances and holds and the sums of their rows. */
  driftMicroUsd: bigint
  findings: AuditFinding[]
  /** How many findings are not listed. */
  findingsLeftOff: number
}

interface AuditCounts {
  accounts: number
  entries: number
  topUps: number
  grants: number
  charges: number
  refunds: number
  /** Rows of staking credit that was used or returned. */
  staking: number
  writeOffs: number
  openHolds: number
  payments: number
  jobs: number
  claims: number
}

export interface AuditOptions {
  clock?: Clock
  /** An open hold whose lease ended longer ago than this is a finding: recovery should have ended it. */
  expiredHoldMs?: number
}

/** Two rounds of recovery, with room for a restart. */
const defaultExpiredHoldMs = 120_000

/**
 * Recomputes the ledger from its rows alone. It shares no code with the ledger, the units of work or the pricing, so
 * that a bug in one of them cannot hide itself. Takes the path of a SQLite database, or a reader of any store.
 */
export async function audit(database: string | AuditReader, options: AuditOptions = {}): Promise<AuditReport> {
  const { clock = systemClock, expiredHoldMs = defaultExpiredHoldMs } = options
  const reader = typeof database === 'string' ? sqliteAuditReader(database) : database
  const findings = new Findings()
  try {
    const systemMicroUsd = await checkSum(reader, findings)
    await checkBalances(reader, findings)
    await checkHistory(reader, findings)
    await checkEntries(reader, findings)
    await checkChargesOnce(reader, findings)
    await checkCharges(reader, findings)
    await checkRequests(reader, findings)
    await checkStakingCredit(reader, findings)
    await checkKeyUse(reader, findings)
    await checkDaySums(reader, findings)
    await checkPayments(reader, findings)
    await checkJobs(reader, findings)
    await checkHolds(reader, findings, clock.now() - expiredHoldMs)
    await checkClaims(reader, findings)
    const counts = await count(reader)
    const { listed, leftOff, driftMicroUsd } = findings
    return {
      ok: listed.length === 0,
      counts,
      systemMicroUsd,
      driftMicroUsd,
      findings: listed,
      findingsLeftOff: leftOff,
    }
  } finally {
    if (typeof database === 'string') await reader.close()
  }
}

const countOf: Readonly<Record<string, keyof AuditCounts>> = {
  TOP_UP: 'topUps',
  GRANT: 'grants',
  CHARGE: 'charges',
  REFUND: 'refunds',
  STAKING: 'staking',
  WRITE_OFF: 'writeOffs',
  account: 'accounts',
  entry: 'entries',
  hold: 'openHolds',
  payment: 'payments',
  job: 'jobs',
  claim: 'claims',
}

async function count(reader: AuditReader): Promise<AuditCounts> {
  const counts = {
    ...{ accounts: 0, entries: 0, topUps: 0, grants: 0, charges: 0, refunds: 0, staking: 0, writeOffs: 0 },
    ...{ openHolds: 0, payments: 0, jobs: 0, claims: 0 },
  }
  const tables = ['account', 'entry', 'hold', 'payment', 'job', 'claim']
  const rows = reader.rows<{ name: string; n: bigint }>(`
    ${tables.map(table => `SELECT '${table}' AS name, count(*) AS n FROM ${table} UNION ALL`).join(' ')}
    SELECT kind, count(*) FROM entry GROUP BY kind`)
  for await (const { name, n } of rows) {
    const counted = countOf[name]
    if (counted) counts[counted] = Number(n)
  }
  return counts
}

/** Unit prices are in pico-USD. */
const picoPerMicro = 1_000_000n

/**
 * A request is charged by one set of lines, numbered from 0, on one account; no other entry may repeat a ref and line.
 */
async function checkChargesOnce(reader: AuditReader, findings: Findings): Promise<void> {
  const requests = reader.rows<{ request: string | null; n: bigint }>(`
    SELECT request, count(*) AS n FROM entry WHERE kind = 'CHARGE' GROUP BY request
    HAVING count(*) <> count(DISTINCT line) OR max(line) <> count(*) - 1
      OR count(DISTINCT account) > 1 OR count(DISTINCT ref) > 1 OR count(DISTINCT created_at_ms) > 1`)
  for await (const { request, n } of requests) {
    const sentence = `Request ${request} has ${n} charged lines that do not form one charge of one account.`
    findings.add('charged_twice', `${request}`, sentence)
  }
  const others = reader.rows<{ ref: string; n: bigint }>(
    `SELECT ref, count(*) AS n FROM entry WHERE kind <> 'CHARGE' GROUP BY ref HAVING count(*) > 1`,
  )
  for await (const { ref, n } of others)
    findings.add('charged_twice', ref, `${ref} was entered ${n} times; it may be entered only once.`)
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
async function checkCharges(reader: AuditReader, findings: Findings): Promise<void> {
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
async function checkPayments(reader: AuditReader, findings: Findings): Promise<void> {
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
async function checkJobs(reader: AuditReader, findings: Findings): Promise<void> {
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
async function checkHolds(reader: AuditReader, findings: Findings, expiredBeforeMs: number): Promise<void> {
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
async function checkClaims(reader: AuditReader, findings: Findings): Promise<void> {
  const shared = reader.rows<{ request: string; n: bigint }>(
    'SELECT request, count(*) AS n FROM claim GROUP BY request HAVING count(*) > 1',
  )
  for await (const { request, n } of shared)
    findings.add('claim_differs', request, `Request ${request} belongs to ${n} claims; it may belong to only one.`)
  const rows = reader.rows<{ id: string; answers: bigint }>(`
    SELECT c.id AS id, (SELECT count(*) FROM claim_answer a WHERE a.claim = c.id) AS answers FROM claim c
    WHERE (c.state = 'done') <> EXISTS (SELECT 1 FROM claim_answer a WHERE a.claim = c.id)
      OR EXISTS (SELECT 1 FROM entry e WHERE e.ref = 'charge:' || c.request AND e.account <> c.account)`)
  for await (const { id, answers } of rows) {
    const sentence = `Claim ${id} has ${answers} answers, which its state does not allow, or was charged to another account.`
    findings.add('claim_differs', id, sentence)
  }
}
