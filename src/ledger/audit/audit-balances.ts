import type { AuditReader } from './audit-reader.ts'
import type { Findings } from './findings.ts'

/** Both sides of every entry: one row for each account that it changed. */
const sides = `(SELECT credit AS account, amount AS effect FROM entry
  UNION ALL SELECT debit, -amount FROM entry)`

/**
 * Stored balances of customers and computed ones of system accounts must sum to zero. Returns those of the system
 * accounts.
 */
export async function checkSum(reader: AuditReader, findings: Findings): Promise<Record<string, bigint>> {
  const system: Record<string, bigint> = {}
  let sum = 0n
  const computed = reader.rows<{ account: string; effect: bigint }>(
    `SELECT account, sum(effect) AS effect FROM ${sides} s WHERE account LIKE 'system:%' GROUP BY account`,
  )
  for await (const { account, effect } of computed) {
    system[account] = effect
    sum += effect
  }
  for await (const { posted } of reader.rows<{ posted: bigint }>('SELECT posted FROM account')) sum += posted
  if (sum !== 0n) findings.add('not_balanced', 'all accounts', `All accounts together hold ${sum} micro-USD, not 0.`)
  return system
}

/**
 * The posted amount must be the sum of the entries, the held amount that of the open holds, and neither may make an
 * account negative.
 */
export async function checkBalances(reader: AuditReader, findings: Findings): Promise<void> {
  const rows = reader.rows<{ id: string; posted: bigint; held: bigint; entries: bigint; holds: bigint }>(`
    SELECT id, posted, held, coalesce(entries, 0) AS entries, coalesce(holds, 0) AS holds FROM account
    LEFT JOIN (SELECT account, sum(effect) AS entries FROM ${sides} s GROUP BY account) e ON e.account = id
    LEFT JOIN (SELECT account, sum(amount - staking_usd) AS holds FROM hold GROUP BY account) h ON h.account = id
    WHERE posted <> coalesce(entries, 0) OR held <> coalesce(holds, 0) OR held < 0 OR posted < held`)
  for await (const { id, posted, held, entries, holds } of rows) {
    findings.addDrift(posted - entries)
    findings.addDrift(held - holds)
    if (posted !== entries)
      findings.add(
        'posted_differs',
        id,
        `Account ${id} has posted ${posted}; its entries add up to ${entries} micro-USD.`,
      )
    if (held !== holds)
      findings.add('held_differs', id, `Account ${id} has held ${held}; its open holds add up to ${holds} micro-USD.`)
    if (held < 0n || posted < held)
      findings.add('negative_balance', id, `Account ${id} is below zero: posted ${posted}, held ${held} micro-USD.`)
  }
  await checkUnknownAccounts(reader, findings)
}

/** Money of a missing account would be missing from every balance. */
async function checkUnknownAccounts(reader: AuditReader, findings: Findings): Promise<void> {
  const unknown = reader.rows<{ account: string; amount: bigint }>(`
    SELECT account, sum(effect) AS amount FROM ${sides} s
      WHERE account NOT LIKE 'system:%' AND account NOT IN (SELECT id FROM account) GROUP BY account
    UNION ALL SELECT account, sum(amount - staking_usd) FROM hold
      WHERE account NOT IN (SELECT id FROM account) GROUP BY account`)
  for await (const { account, amount } of unknown) {
    findings.addDrift(amount)
    findings.add('unknown_account', account, `${amount} micro-USD belong to ${account}, which is not an account.`)
  }
}

/** The balance that each entry records must be the sum of the entries up to it, and never negative. */
export async function checkHistory(reader: AuditReader, findings: Findings): Promise<void> {
  const rows = reader.rows<{ id: string; posted_after: bigint; running: bigint }>(`
    SELECT id, posted_after, running FROM (
      SELECT id, posted_after, sum(CASE WHEN credit = account THEN amount ELSE -amount END)
        OVER (PARTITION BY account ORDER BY seq ROWS UNBOUNDED PRECEDING) AS running FROM entry) h
    WHERE posted_after <> running OR running < 0`)
  for await (const { id, posted_after, running } of rows) {
    const sentence = `Entry ${id} records a balance of ${posted_after} micro-USD after it; the entries up to it add up to ${running}.`
    findings.add('history_differs', id, sentence)
  }
}

/** Names that only one request's entries have; a credit with one of them would block a charge. */
const reserved = ['charge', 'writeoff', 'staking', 'refund', 'staking-back']
  .map(name => `ref LIKE '${name}:%'`)
  .join(' OR ')

/** Each kind of entry must be between the customer and its one system account, and have its required members. */
export async function checkEntries(reader: AuditReader, findings: Findings): Promise<void> {
  const rows = reader.rows<{ id: string; kind: string; debit: string; credit: string }>(`
    SELECT id, kind, debit, credit FROM entry WHERE amount < 0 OR account LIKE 'system:%'
      OR (line <> 0 AND kind <> 'CHARGE') OR (kind = 'STAKING') <> (staking_day_ms IS NOT NULL)
      OR (budget_period IS NULL) <> (budget_start_ms IS NULL) OR (budget_period IS NOT NULL AND api_key IS NULL)
      OR NOT CASE kind
        WHEN 'TOP_UP' THEN debit = 'system:usdc' AND credit = account AND NOT (${reserved})
        WHEN 'GRANT' THEN debit = 'system:grant' AND credit = account AND NOT (${reserved})
        WHEN 'CHARGE' THEN debit = account AND credit = 'system:revenue' AND ${named('charge')}
        WHEN 'REFUND' THEN debit = 'system:revenue' AND credit = account AND ${named('refund')}
        WHEN 'WRITE_OFF' THEN debit = 'system:writeoff' AND credit = account AND ${named('writeoff')}
        WHEN 'STAKING' THEN (debit = 'system:staking' AND credit = account AND ${named('staking')})
          OR (debit = account AND credit = 'system:staking' AND ${named('staking-back')})
        ELSE false END`)
  for await (const { id, kind, debit, credit } of rows)
    findings.add('entry_misshapen', id, `Entry ${id} is not a valid ${kind}: it goes from ${debit} to ${credit}.`)
}

/** The ref is this name of the row's own request. */
const named = (name: string): string => `coalesce(ref = '${name}:' || request, false)`

/** Which side of a request's money a row is on, according to its name. */
const amountOf = (name: string): string => `sum(CASE WHEN ref = '${name}:' || request THEN amount ELSE 0 END)`
const rowsOf = (name: string): string => `sum(CASE WHEN ref = '${name}:' || request THEN 1 ELSE 0 END)`

/** What each request was charged, who paid it, and how much of it was refunded. */
const requests = `(SELECT request, min(account) AS account, max(account) AS last_account,
  ${rowsOf('charge')} AS lines, ${amountOf('charge')} AS charged, ${amountOf('writeoff')} AS written_off,
  ${amountOf('staking')} AS staking, ${rowsOf('refund')} AS refunds, ${amountOf('refund')} AS refunded,
  ${amountOf('staking-back')} AS staking_back,
  min(api_key) AS api_key, min(budget_period) AS period, min(budget_start_ms) AS start_ms,
  min(staking_day_ms) AS day_ms, max(staking_day_ms) AS last_day_ms,
  count(DISTINCT CASE WHEN kind <> 'REFUND' AND ref <> 'staking-back:' || request
    THEN coalesce(api_key, '') || ' ' || coalesce(budget_period, '') || ' ' || coalesce(budget_start_ms, -1) END) AS payers
  FROM entry WHERE request IS NOT NULL GROUP BY request)`

interface RequestTotals {
  request: string
  charged: bigint
  written_off: bigint
  staking: bigint
  refunds: bigint
  refunded: bigint
  staking_back: bigint
  /** 1 if the request is wrong. */
  funding: bigint
  refund: bigint
}

const wrongFunding = 'account <> last_account OR payers > 1 OR staking > charged - written_off'
const wrongRefund = `(refunds > 0 AND (refunds <> 1 OR lines = 0 OR refunded <> charged - written_off
    OR staking_back <> staking OR day_ms <> last_day_ms)) OR (refunds = 0 AND staking_back > 0)`

/**
 * A write-off and staking credit may pay for a charge up to its amount, for one account and one key. A refund returns
 * what the account paid, at most once, and returns staking credit to its own day.
 */
export async function checkRequests(reader: AuditReader, findings: Findings): Promise<void> {
  const rows = reader.rows<RequestTotals>(`
    SELECT request, charged, written_off, staking, refunds, refunded, staking_back,
      CASE WHEN ${wrongFunding} THEN 1 ELSE 0 END AS funding, CASE WHEN ${wrongRefund} THEN 1 ELSE 0 END AS refund
    FROM ${requests} r WHERE ${wrongFunding} OR ${wrongRefund}`)
  for await (const row of rows) {
    if (row.funding === 1n) tellFunding(row, findings)
    if (row.refund === 1n) tellRefund(row, findings)
  }
}

function tellFunding({ request, charged, written_off, staking }: RequestTotals, findings: Findings): void {
  const sentence = `Request ${request} was charged ${charged} micro-USD; a write-off of ${written_off} and staking credit of ${staking} do not match that, or belong to another account or key.`
  findings.add('funding_differs', request, sentence)
}

function tellRefund(row: RequestTotals, findings: Findings): void {
  const { request, charged, written_off, staking, refunds, refunded, staking_back } = row
  const paid = `was charged ${charged - written_off} and refunded ${refunded} micro-USD in ${refunds} entries`
  const sentence = `Request ${request} ${paid}; of staking credit, ${staking} were used and ${staking_back} returned.`
  findings.add('refund_differs', request, sentence)
}

interface Used {
  spent: bigint
  held: bigint
}

/** A day's staking credit that is recorded as spent must be in the entries, and the held part in open holds. */
export async function checkStakingCredit(reader: AuditReader, findings: Findings): Promise<void> {
  const rows = reader.rows<Used & { account: string; day: bigint | null }>(`
    SELECT account, day_ms AS day, sum(spent) AS spent, sum(held) AS held FROM (
      SELECT account, day_ms, spent_usd AS spent, held_usd AS held FROM staking_credit
      UNION ALL SELECT account, staking_day_ms, CASE WHEN credit = account THEN -amount ELSE amount END, 0
        FROM entry WHERE kind = 'STAKING'
      UNION ALL SELECT account, staking_day_ms, 0, -staking_usd FROM hold WHERE staking_usd <> 0) d
    GROUP BY account, day_ms HAVING sum(spent) <> 0 OR sum(held) <> 0`)
  for await (const { account, day, spent, held } of rows) {
    findings.addDrift(spent)
    findings.addDrift(held)
    const sentence = `The staking credit of ${account} for the day of ${isoTime(day)} is off by ${spent} spent and ${held} held micro-USD.`
    findings.add('staking_credit_differs', account, sentence)
  }
}

interface KeyUse extends Used {
  key: string
  period: string
  start: bigint | null
  spent_staking: bigint
  held_staking: bigint
}

/** A key's recorded spending and holds in a period must match the charges and open holds that count in it. */
export async function checkKeyUse(reader: AuditReader, findings: Findings): Promise<void> {
  const rows = reader.rows<KeyUse>(`
    SELECT api_key AS key, period, start_ms AS start, sum(spent) AS spent, sum(held) AS held,
      sum(spent_staking) AS spent_staking, sum(held_staking) AS held_staking FROM (
      SELECT key AS api_key, period, start_ms, spent_usd AS spent, held_usd AS held,
        spent_staking_usd AS spent_staking, held_staking_usd AS held_staking FROM key_use
      UNION ALL SELECT api_key, period, start_ms, staking + written_off - charged, 0, -staking, 0
        FROM ${requests} r WHERE refunds = 0 AND period IS NOT NULL
      UNION ALL SELECT api_key, budget_period, budget_start_ms, 0, staking_usd - amount, 0, -staking_usd
        FROM hold WHERE budget_period IS NOT NULL) d
    GROUP BY api_key, period, start_ms
    HAVING sum(spent) <> 0 OR sum(held) <> 0 OR sum(spent_staking) <> 0 OR sum(held_staking) <> 0`)
  for await (const { key, period, start, spent, held, spent_staking, held_staking } of rows) {
    for (const difference of [spent, held, spent_staking, held_staking]) findings.addDrift(difference)
    const usd = `${spent} spent and ${held} held micro-USD`
    const staking = `${spent_staking} and ${held_staking} of staking credit`
    const sentence = `The use of key ${key} in its ${period} from ${isoTime(start)} is off by ${usd}, and ${staking}.`
    findings.add('key_use_differs', key, sentence)
  }
}

const isoTime = (atMs: bigint | null): string => (atMs === null ? 'no time' : new Date(Number(atMs)).toISOString())

/**
 * Sums by day must match the entries. Folding moves entries of a month to its end and leaves the daily sums, so each
 * account's sum of each kind is compared.
 */
export async function checkDaySums(reader: AuditReader, findings: Findings): Promise<void> {
  const rows = reader.rows<{ account: string; kind: string; difference: bigint }>(`
    SELECT account, kind, sum(difference) AS difference FROM (
      SELECT account, kind, CASE WHEN credit = account THEN amount ELSE -amount END AS difference FROM entry
      UNION ALL SELECT account, kind, -effect_usd FROM day_sum) d
    GROUP BY account, kind HAVING sum(difference) <> 0`)
  for await (const { account, kind, difference } of rows) {
    const sentence = `The sums by day of ${account} for ${kind} differ from its entries by ${difference} micro-USD.`
    findings.add('day_sum_differs', account, sentence)
  }
}
