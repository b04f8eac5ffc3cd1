import { type Clock, systemClock } from '#contract/time.ts'
import { settlingMs } from '../bounds.ts'
import type { AuditReader } from './audit-reader.ts'
import type { Payee, TransferSource } from './audit-transfers.ts'
import { type AuditFinding, Findings } from './findings.ts'

export interface ChainAuditReport {
  /** True if every credit has its transfer, and every payment that reached us its credit. */
  ok: boolean
  payees: PayeeCounts[]
  findings: AuditFinding[]
  findingsLeftOff: number
  /**
   * Transfers without a payment, or with a new payment that is in flight: worth knowing, but not an error of the
   * ledger.
   */
  notes: AuditFinding[]
  notesLeftOff: number
}

export interface PayeeCounts extends Payee {
  /** Credited payments, and how many of them have their transfer on the chain. */
  credits: number
  matched: number
  /** Everything that reached the payee since the first payment. */
  transfers: number
}

/** For one payee: credits without their transfer so far, by transaction and amount. Some 300 bytes each. */
interface Ledger {
  counts: PayeeCounts
  sinceMs: number
  waiting: Map<string, string[]>
}

/**
 * Compares credited payments with the transfers to the payee on its chain, one to one by transaction and amount. The
 * ledger is read first, so all of its payments are on the chain by the time the chain is read. Rejects with
 * `NodeFailed` if a chain does not answer.
 */
export async function auditChain(
  reader: AuditReader,
  sourceOf: (network: string) => Promise<TransferSource>,
  clock: Clock = systemClock,
): Promise<ChainAuditReport> {
  const findings = new Findings()
  const notes = new Findings()
  const ledgers = await readCredits(reader, findings)
  const records = { reader, nowMs: clock.now() }
  for (const ledger of ledgers.values()) {
    const source = await sourceOf(ledger.counts.network)
    await compare(records, ledger, source, findings, notes)
  }
  return {
    ok: findings.listed.length === 0,
    payees: [...ledgers.values()].map(({ counts }) => counts),
    findings: findings.listed,
    findingsLeftOff: findings.leftOff,
    notes: notes.listed,
    notesLeftOff: notes.leftOff,
  }
}

const nameOf = (transaction: string, amount: bigint): string => `${transaction} ${amount}`

/** EVM hashes are equal in either case; Solana's signatures are not. */
const sameCase = (transaction: string): string =>
  transaction.startsWith('0x') ? transaction.toLowerCase() : transaction

interface PaymentRow {
  id: string
  transaction_id: string | null
  payload: string | null
  at: bigint
  credited: bigint | null
}

async function readCredits(reader: AuditReader, findings: Findings): Promise<Map<string, Ledger>> {
  const ledgers = new Map<string, Ledger>()
  const rows = reader.rows<PaymentRow>(`
    SELECT p.id AS id, p.transaction_id AS transaction_id, p.payload AS payload, p.created_at_ms AS at, e.amount AS credited
    FROM payment p LEFT JOIN entry e ON e.ref = 'topup:' || p.id AND e.kind = 'TOP_UP' ORDER BY p.created_at_ms`)
  for await (const { id, transaction_id, payload, at, credited } of rows) {
    const payee = payeeOf(payload)
    if (!payee) {
      if (credited !== null)
        findings.add('credit_without_transfer', id, `Payment ${id} was credited, but its row does not name the payee.`)
      continue
    }
    const name = `${payee.network} ${payee.asset} ${payee.account}`
    const ledger = ledgers.get(name) ?? newLedger(payee, Number(at))
    ledgers.set(name, ledger)
    if (credited === null) continue
    ledger.counts.credits++
    const expected = nameOf(sameCase(transaction_id ?? 'none'), credited)
    ledger.waiting.set(expected, [...(ledger.waiting.get(expected) ?? []), id])
  }
  return ledgers
}

const newLedger = (payee: Payee, sinceMs: number): Ledger => ({
  counts: { ...payee, credits: 0, matched: 0, transfers: 0 },
  sinceMs,
  waiting: new Map(),
})

/** Returns the address that a stored payment pays: from our option at the time, and on Solana the token account. */
function payeeOf(payload: string | null): Payee | null {
  const { option, destination } = (payload === null ? {} : JSON.parse(payload)) as {
    option?: { network?: string; asset?: string; payTo?: string }
    destination?: string
  }
  const account = destination ?? option?.payTo?.toLowerCase()
  if (!option?.network || !option.asset || !account) return null
  return { network: option.network, asset: option.asset, account }
}

/** What explains a transfer without a credit, and the current time. */
interface Records {
  reader: AuditReader
  nowMs: number
}

async function compare(
  records: Records,
  { counts, sinceMs, waiting }: Ledger,
  source: TransferSource,
  findings: Findings,
  notes: Findings,
): Promise<void> {
  for await (const transfer of source.transfers(counts, sinceMs)) {
    counts.transfers++
    const transaction = sameCase(transfer.transaction)
    const ids = waiting.get(nameOf(transaction, transfer.amount))
    if (ids?.pop() !== undefined) counts.matched++
    else await judge(records, await transfer.paymentKey(), { transaction, amount: transfer.amount }, findings, notes)
  }
  for (const [name, ids] of waiting) {
    for (const id of ids) {
      const sentence = `Payment ${id} was credited for ${name.split(' ')[0]}, which moved no such amount to ${counts.account}.`
      findings.add('credit_without_transfer', id, sentence)
    }
  }
}

/** Judges a transfer that no credit names: it belongs to a payment that was not credited, or to no payment. */
async function judge(
  { reader, nowMs }: Records,
  key: string | null,
  { transaction, amount }: { transaction: string; amount: bigint },
  findings: Findings,
  notes: Findings,
): Promise<void> {
  let state: string | null = null
  let isLate = false
  if (key !== null) {
    const payment = 'SELECT state, created_at_ms AS at FROM payment WHERE id = ?'
    for await (const row of reader.rows<{ state: string; at: bigint }>(payment, key)) {
      state = row.state
      isLate = nowMs - Number(row.at) > settlingMs
    }
  }
  const brought = `${transaction} brought ${amount} micro-USD`
  if (state === null) {
    notes.add('transfer_without_payment', transaction, `${brought}, and no payment in the ledger matches it.`)
  } else if (!['claimed', 'settling', 'unknown'].includes(state)) {
    findings.add(
      'transfer_not_credited',
      transaction,
      `${brought} for payment ${key}, but was not credited; the payment is ${state}.`,
    )
  } else if (isLate) {
    const sentence = `${brought} for payment ${key}, which is still ${state} an hour after the service received it; start the service or see its log.`
    findings.add('transfer_not_credited', transaction, sentence)
  } else {
    notes.add('transfer_not_credited', transaction, `${brought} for payment ${key}, which is still ${state}.`)
  }
}
