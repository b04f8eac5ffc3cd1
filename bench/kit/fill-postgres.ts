import pg from 'pg'
import { dayMs } from '#contract/time.ts'

/** As in SQLite: each charge has an entry for input and one for output, spread over the past days. */
const [inputUsd, outputUsd] = [20, 17]
const spreadMs = 30 * dayMs
/** Entries of one transaction. */
const atOnce = 100_000

/** Entries of one transaction after another, in turn for these accounts, with balances that add up. */
export async function fillPostgresEntries(url: string, accounts: readonly string[], entries: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('SET search_path = farebox; SET synchronous_commit = off')
    await client.query(
      `CREATE TEMP TABLE payer AS SELECT named.place - 1 AS place, account.id, account.posted
        FROM unnest($1::text[]) WITH ORDINALITY AS named (id, place) JOIN account ON account.id = named.id`,
      [accounts],
    )
    const fromMs = Date.now() - spreadMs
    for (let made = 0; made < entries; made += atOnce)
      await client.query(entriesFrom, [made, Math.min(entries, made + atOnce), accounts.length, fromMs, entries])
    await client.query(
      `UPDATE account SET posted = least(account.posted, left_over.posted) FROM
        (SELECT DISTINCT ON (account) account, posted_after AS posted FROM entry ORDER BY account, seq DESC) AS left_over
        WHERE account.id = left_over.account`,
    )
    await client.query('ANALYZE')
  } finally {
    await client.end()
  }
}

/** The entries from one number to another; each charge takes two of them. */
const entriesFrom = `INSERT INTO entry (id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
    unit_price_pico_usd, created_at_ms)
  SELECT 'bench-' || n, 'CHARGE', payer.id, payer.id, 'system:revenue', CASE n % 2 WHEN 0 THEN ${inputUsd} ELSE ${outputUsd} END,
    payer.posted - (n / 2 / $3::int) * ${inputUsd + outputUsd} - CASE n % 2 WHEN 0 THEN ${inputUsd} ELSE ${inputUsd + outputUsd} END,
    'charge:bench-' || n / 2, n % 2, 'bench-' || n / 2, 'model-' || (n / 2 % 7 % 4),
    CASE n % 2 WHEN 0 THEN 'chat.input' ELSE 'chat.output' END, CASE n % 2 WHEN 0 THEN ${inputUsd} ELSE ${outputUsd} END, 1000000,
    $4::bigint + n::bigint * ${spreadMs} / $5::bigint
  FROM generate_series($1::int, $2::int - 1) AS n JOIN payer ON payer.place = n / 2 % $3::int ORDER BY n`
