import type { AuditReader } from '#service/ledger/audit-reader.ts'

/** What the books say, read from the file with plain SQL of our own. Amounts are micro-USD. */
export interface LedgerRows {
  /** By request: what was charged, on how many refs. */
  charges: Map<string, { amount: bigint; refs: bigint }>
  refunds: Map<string, bigint>
  /** By account. */
  grants: Map<string, bigint>
  topUps: TopUpRow[]
  payments: Map<string, PaymentState>
  jobs: Map<string, { state: string; request: string }>
  holds: { id: string; leaseUntilMs: number }[]
}

export interface TopUpRow {
  /** Of the payment: the last part of its key. */
  nonce: string
  amount: bigint
  postedAfter: bigint
  transaction: string | null
}

export interface PaymentState {
  state: string
  amount: bigint
  leaseUntilMs: number | null
}

/** Of one snapshot. */
export async function readLedger(reader: AuditReader): Promise<LedgerRows> {
  const charges = await rows<{ request: string; amount: bigint; refs: bigint }>(
    reader,
    `SELECT request, sum(amount) AS amount, count(DISTINCT ref) AS refs FROM entry WHERE kind = 'CHARGE' GROUP BY request`,
  )
  const jobs = await rows<{ id: string; state: string; request: string }>(reader, 'SELECT id, state, request FROM job')
  const holds = await rows<{ id: string; ends: bigint }>(reader, 'SELECT id, lease_until_ms AS ends FROM hold')
  return {
    charges: new Map(charges.map(({ request, amount, refs }) => [request, { amount, refs }])),
    refunds: await amounts(
      reader,
      `SELECT request AS id, sum(amount) AS amount FROM entry WHERE kind = 'REFUND' GROUP BY 1`,
    ),
    grants: await amounts(
      reader,
      `SELECT account AS id, sum(amount) AS amount FROM entry WHERE kind = 'GRANT' GROUP BY 1`,
    ),
    topUps: await readTopUps(reader),
    payments: await readPayments(reader),
    jobs: new Map(jobs.map(row => [row.id, row])),
    holds: holds.map(({ id, ends }) => ({ id, leaseUntilMs: Number(ends) })),
  }
}

async function readTopUps(reader: AuditReader): Promise<TopUpRow[]> {
  const found = await rows<{ ref: string; amount: bigint; balance: bigint; landed: string | null }>(
    reader,
    `SELECT e.ref AS ref, e.amount AS amount, e.posted_after AS balance, p.transaction_id AS landed
      FROM entry e LEFT JOIN payment p ON 'topup:' || p.id = e.ref WHERE e.kind = 'TOP_UP'`,
  )
  return found.map(({ ref, amount, balance, landed }) => {
    return { nonce: nonceOf(ref), amount, postedAfter: balance, transaction: landed }
  })
}

async function readPayments(reader: AuditReader): Promise<Map<string, PaymentState>> {
  const found = await rows<{ id: string; state: string; amount: bigint | null; ends: bigint | null }>(
    reader,
    'SELECT id, state, amount, lease_until_ms AS ends FROM payment',
  )
  return new Map(
    found.map(({ id, state, amount, ends }) => [
      nonceOf(id),
      { state, amount: amount ?? 0n, leaseUntilMs: ends === null ? null : Number(ends) },
    ]),
  )
}

const nonceOf = (key: string): string => key.slice(key.lastIndexOf(':') + 1)

const amounts = async (reader: AuditReader, sql: string): Promise<Map<string, bigint>> =>
  new Map((await rows<{ id: string; amount: bigint }>(reader, sql)).map(({ id, amount }) => [id, amount]))

async function rows<Row>(reader: AuditReader, sql: string): Promise<Row[]> {
  const all: Row[] = []
  for await (const row of reader.rows<Row>(sql)) all.push(row)
  return all
}
