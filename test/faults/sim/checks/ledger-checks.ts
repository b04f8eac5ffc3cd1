import type { World } from '../world.ts'

interface BrokenRow {
  id: string
  detail: string
}

/** Rules that hold after every commit, each as a question that must have no answer. */
const alwaysTrue: readonly [rule: string, sql: string][] = [
  [
    'an account has posted what its entries add up to',
    `SELECT a.id AS id, a.posted || ' and ' || coalesce(e.sum, 0) AS detail FROM account a
      LEFT JOIN (SELECT account, sum(CASE account WHEN credit THEN amount ELSE -amount END) AS sum
        FROM entry GROUP BY account) e ON e.account = a.id
      WHERE a.posted <> coalesce(e.sum, 0)`,
  ],
  [
    'an account holds what its open holds add up to, and never more than it has',
    `SELECT a.id AS id, a.held || ' and ' || coalesce(h.sum, 0) AS detail FROM account a
      LEFT JOIN (SELECT account, sum(amount - staking_usd) AS sum FROM hold GROUP BY account) h ON h.account = a.id
      WHERE a.held <> coalesce(h.sum, 0) OR a.held < 0 OR a.posted < a.held`,
  ],
  [
    'an entry is balanced between one customer and one account of the system',
    `SELECT id, debit || ' to ' || credit AS detail FROM entry
      WHERE amount < 0 OR (debit LIKE 'system:%') = (credit LIKE 'system:%')`,
  ],
  [
    'a payment is credited once',
    `SELECT ref AS id, count(*) AS detail FROM entry WHERE kind = 'TOP_UP' GROUP BY ref HAVING count(*) > 1`,
  ],
  [
    'a request is charged to one account, at one moment',
    `SELECT request AS id, count(*) AS detail FROM entry WHERE kind = 'CHARGE' GROUP BY request
      HAVING count(DISTINCT account) > 1 OR count(DISTINCT created_at_ms) > 1 OR count(*) <> count(DISTINCT line)`,
  ],
  [
    'a hold that has ended is not open',
    'SELECT id, account AS detail FROM hold WHERE id IN (SELECT id FROM ended_hold)',
  ],
  [
    'a job is refunded once, whole, and only when it failed',
    `SELECT r.request AS id, r.amount AS detail FROM entry r LEFT JOIN job j ON j.request = r.request
      WHERE r.kind = 'REFUND' AND (j.id IS NULL OR (j.state <> 'failed' AND j.failure IS NULL)
        OR r.amount <> (SELECT sum(CASE c.kind WHEN 'CHARGE' THEN c.amount WHEN 'WRITE_OFF' THEN -c.amount ELSE 0 END)
          FROM entry c WHERE c.request = r.request))`,
  ],
  [
    'a key spends no more than its budget in a period',
    `SELECT u.key AS id, u.spent_usd || ' and ' || u.held_usd || ', ' || u.spent_staking_usd || ' and ' || u.held_staking_usd
        AS detail FROM key_use u JOIN api_key k ON k.id = u.key AND k.budget_period = u.period
      WHERE u.spent_usd + u.held_usd > k.budget_usd
        OR u.spent_staking_usd + u.held_staking_usd > k.budget_staking_usd`,
  ],
  [
    'no more staking credit is used in a day than was granted',
    `SELECT account AS id, spent_usd || ' and ' || held_usd || ' of ' || granted_usd AS detail FROM staking_credit
      WHERE spent_usd + held_usd > granted_usd`,
  ],
  [
    'a job that was accepted is paid for',
    `SELECT j.id AS id, j.request AS detail FROM job j
      WHERE NOT EXISTS (SELECT 1 FROM entry e WHERE e.ref = 'charge:' || j.request)`,
  ],
  [
    'a job that failed has its charge back',
    `SELECT j.id AS id, j.state AS detail FROM job j WHERE j.state = 'failed'
      AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.ref = 'refund:' || j.request)`,
  ],
]

/** After every step. */
export function checkLedger(world: World): void {
  for (const [rule, sql] of alwaysTrue) {
    const [row] = world.database.rows<BrokenRow>(sql)
    if (row) world.broken(`Not true: ${rule} (${row.id}: ${row.detail}).`)
  }
  checkCreditsLanded(world)
  checkAcknowledged(world)
}

/** Nothing is credited that is not on the chain: what was credited once is too deep to be dropped. */
function checkCreditsLanded(world: World): void {
  const landed = new Map(world.transfersToPayee().map(({ order }) => [order.id, order.amount]))
  for (const { ref, amount } of world.database.rows<{ ref: string; amount: bigint }>(
    `SELECT ref, amount FROM entry WHERE kind = 'TOP_UP'`,
  )) {
    const came = landed.get(ref.slice(ref.lastIndexOf(':') + 1))
    if (came !== amount) world.broken(`${ref} was credited with ${amount}; ${came ?? 0n} micro-USD came.`)
  }
}

/** What a caller was told stands. */
function checkAcknowledged(world: World): void {
  const credits = new Map(
    world.database
      .rows<{ ref: string; amount: bigint; after: bigint }>(
        `SELECT ref, amount, posted_after AS after FROM entry WHERE kind = 'TOP_UP'`,
      )
      .map(row => [row.ref.slice(row.ref.lastIndexOf(':') + 1), row]),
  )
  for (const { acknowledged, order } of world.book.payments) {
    if (!acknowledged) continue
    const credit = credits.get(order.id)
    if (credit?.amount !== acknowledged.amount || credit.after !== acknowledged.newBalance)
      world.broken(`Payment ${order.id} was acknowledged as ${acknowledged.body}, and that does not stand.`)
  }
}
