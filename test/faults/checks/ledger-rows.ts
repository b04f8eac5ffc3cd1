import type { AuditReader } from '#ledger/audit/audit-reader.ts'

/** What the ledger says, read from the file with plain SQL of our own. Amounts are micro-USD. */
export interface LedgerRows {
  /** By request, in the order of the ledger. */
  charges: Map<string, ChargeRow>
  refunds: Map<string, bigint>
  /** By account. */
  grants: Map<string, bigint>
  topUps: TopUpRow[]
  payments: Map<string, PaymentState>
  jobs: Map<string, { state: string; request: string }>
  /** Of calls under an `Idempotency-Key`. */
  claims: Map<string, { state: string; request: string }>
  holds: HoldRow[]
}

export interface HoldRow {
  id: string
  leaseUntilMs: number
  amount: bigint
  /** Null without a checkpoint. */
  owed: { request: string; amount: bigint } | null
}

export interface ChargeRow {
  request: string
  account: string
  apiKey: string | null
  amount: bigint
  /** How many refs it stands on. */
  refs: bigint
  /** What of it staking credit has paid, and of which day; negative or zero where it was given back. */
  staking: bigint
  stakingDayMs: number | null
  /** What of it the account's own credit has paid. */
  usd: bigint
  atMs: number
}

export const dayMs = 24 * 60 * 60 * 1000

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
  const jobs = await rows<{ id: string; state: string; request: string }>(reader, 'SELECT id, state, request FROM job')
  const claims = await rows<{ id: string; state: string; request: string }>(
    reader,
    'SELECT id, state, request FROM claim',
  )
  return {
    charges: await readCharges(reader),
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
    claims: new Map(claims.map(row => [row.id, row])),
    holds: await readHolds(reader),
  }
}

async function readHolds(reader: AuditReader): Promise<HoldRow[]> {
  const found = await rows<{ id: string; ends: bigint; amount: bigint; owed: string | null }>(
    reader,
    'SELECT id, lease_until_ms AS ends, amount, owed FROM hold',
  )
  return found.map(({ id, ends, amount, owed }) => {
    return { id, leaseUntilMs: Number(ends), amount, owed: owed === null ? null : sumOfOwed(owed) }
  })
}

/** The column's JSON: a request, a model, and lines of SKU, units, price and amount. */
function sumOfOwed(owed: string): { request: string; amount: bigint } {
  const [request, , lines] = JSON.parse(owed) as [string, string | null, [string, string, string, string][]]
  return { request, amount: lines.reduce((sum, [, , , amount]) => sum + BigInt(amount), 0n) }
}

interface ChargeSums {
  request: string
  account: string
  api_key: string | null
  amount: bigint
  refs: bigint
  staking: bigint
  day: bigint | null
  written_off: bigint
  at: bigint
}

async function readCharges(reader: AuditReader): Promise<Map<string, ChargeRow>> {
  const of = (kind: string, amount: string) => `sum(CASE WHEN kind = '${kind}' THEN ${amount} ELSE 0 END)`
  const sums = await rows<ChargeSums>(
    reader,
    `SELECT request, min(account) AS account, min(CASE WHEN kind = 'CHARGE' THEN api_key END) AS api_key,
        ${of('CHARGE', 'amount')} AS amount, count(DISTINCT CASE WHEN kind = 'CHARGE' THEN ref END) AS refs,
        ${of('STAKING', 'CASE WHEN credit = account THEN amount ELSE -amount END')} AS staking,
        min(staking_day_ms) AS day, ${of('WRITE_OFF', 'amount')} AS written_off, min(created_at_ms) AS at
      FROM entry WHERE request IS NOT NULL GROUP BY request
      HAVING count(CASE WHEN kind = 'CHARGE' THEN 1 END) > 0 ORDER BY min(seq)`,
  )
  return new Map(
    sums.map(({ request, account, api_key, amount, refs, staking, day, written_off, at }) => {
      const usd = amount - staking - written_off
      const stakingDayMs = day === null ? null : Number(day)
      return [
        request,
        { request, account, apiKey: api_key, amount, refs, staking, stakingDayMs, usd, atMs: Number(at) },
      ]
    }),
  )
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
