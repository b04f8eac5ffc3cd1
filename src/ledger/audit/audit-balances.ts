import type { AuditReader } from './audit-reader.ts'
import type { Findings } from './audit-report.ts'

/** Both sides of every entry, a row for each account that it touched. */
const sides = `(SELECT credit AS account, amount AS effect FROM entry
  UNION ALL SELECT debit, -amount FROM entry)`

/** Stored balances of customers and computed ones of system accounts add up to nothing. Answers the system accounts'. */
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

/** Posted is the sum of the entries, held what open holds reserve of it, and neither leaves an account below zero. */
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
  await checkStrangers(reader, findings)
}

/** Money of an account that does not exist is missing from every balance. */
async function checkStrangers(reader: AuditReader, findings: Findings): Promise<void> {
  const strangers = reader.rows<{ account: string; amount: bigint }>(`
    SELECT account, sum(effect) AS amount FROM ${sides} s
      WHERE account NOT LIKE 'system:%' AND account NOT IN (SELECT id FROM account) GROUP BY account
    UNION ALL SELECT account, sum(amount - staking_usd) FROM hold
      WHERE account NOT IN (SELECT id FROM account) GROUP BY account`)
  for await (const { account, amount } of strangers) {
    findings.addDrift(amount)
    findings.add('unknown_account', account, `${amount} micro-USD belong to ${account}, which is no account.`)
  }
}

/** The balance that each entry says it left is the sum of the entries up to it, and never below zero. */
export async function checkHistory(reader: AuditReader, findings: Findings): Promise<void> {
  const rows = reader.rows<{ id: string; posted_after: bigint; running: bigint }>(`
    SELECT id, posted_after, running FROM (
      SELECT id, posted_after, sum(CASE WHEN credit = account THEN amount ELSE -amount END)
        OVER (PARTITION BY account ORDER BY seq ROWS UNBOUNDED PRECEDING) AS running FROM entry) h
    WHERE posted_after <> running OR running < 0`)
  for await (const { id, posted_after, running } of rows) {
    const told = `Entry ${id} says that it left ${posted_after} micro-USD; the entries up to it leave ${running}.`
    findings.add('history_differs', id, told)
  }
}

/** Names that only entries of one request have; a credit with one of them would stand in a charge's way. */
const reserved = ['charge', 'writeoff', 'staking', 'refund', 'staking-back']
  .map(name => `ref LIKE '${name}:%'`)
  .join(' OR ')

/** Each kind of entry goes between the customer and the one system account that it is for, and says what it must. */
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
    findings.add('entry_misshapen', id, `Entry ${id} is no sound ${kind}: it goes from ${debit} to ${credit}.`)
}

/** The ref is this name of the row's own request. */
const named = (name: string): string => `coalesce(ref = '${name}:' || request, false)`
