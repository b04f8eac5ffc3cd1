import { DatabaseSync } from 'node:sqlite'

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

const busyTimeoutMs = 5_000

/** One snapshot, beside a server that writes. */
export function readLedger(path: string): LedgerRows {
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs })
  try {
    database.exec('BEGIN')
    return {
      charges: new Map(
        rows<{ request: string; amount: bigint; refs: bigint }>(
          database,
          `SELECT request, sum(amount) AS amount, count(DISTINCT ref) AS refs FROM entry WHERE kind = 'CHARGE' GROUP BY request`,
        ).map(({ request, amount, refs }) => [request, { amount, refs }]),
      ),
      refunds: amounts(
        database,
        `SELECT request AS id, sum(amount) AS amount FROM entry WHERE kind = 'REFUND' GROUP BY 1`,
      ),
      grants: amounts(
        database,
        `SELECT account AS id, sum(amount) AS amount FROM entry WHERE kind = 'GRANT' GROUP BY 1`,
      ),
      topUps: readTopUps(database),
      payments: readPayments(database),
      jobs: new Map(
        rows<{ id: string; state: string; request: string }>(database, 'SELECT id, state, request FROM job').map(
          row => [row.id, row],
        ),
      ),
      holds: rows<{ id: string; until: bigint }>(database, 'SELECT id, lease_until_ms AS until FROM hold').map(
        ({ id, until }) => ({ id, leaseUntilMs: Number(until) }),
      ),
    }
  } finally {
    database.close()
  }
}

function readTopUps(database: DatabaseSync): TopUpRow[] {
  return rows<{ ref: string; amount: bigint; after: bigint; transaction: string | null }>(
    database,
    `SELECT e.ref AS ref, e.amount AS amount, e.posted_after AS after, p.transaction_id AS "transaction"
      FROM entry e LEFT JOIN payment p ON 'topup:' || p.id = e.ref WHERE e.kind = 'TOP_UP'`,
  ).map(({ ref, amount, after, transaction }) => ({ nonce: nonceOf(ref), amount, postedAfter: after, transaction }))
}

function readPayments(database: DatabaseSync): Map<string, PaymentState> {
  const found = rows<{ id: string; state: string; amount: bigint | null; until: bigint | null }>(
    database,
    'SELECT id, state, amount, lease_until_ms AS until FROM payment',
  )
  return new Map(
    found.map(({ id, state, amount, until }) => [
      nonceOf(id),
      { state, amount: amount ?? 0n, leaseUntilMs: until === null ? null : Number(until) },
    ]),
  )
}

const nonceOf = (key: string): string => key.slice(key.lastIndexOf(':') + 1)

const amounts = (database: DatabaseSync, sql: string): Map<string, bigint> =>
  new Map(rows<{ id: string; amount: bigint }>(database, sql).map(({ id, amount }) => [id, amount]))

function rows<Row>(database: DatabaseSync, sql: string): Row[] {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement.all() as Row[]
}
