import { sql } from 'kysely'
import { watchedAccounts, watchedEntries } from '../bounds.ts'
import type { Store } from '../store/store.ts'

/** What does not add up, and whose it is; only the sentence is for everybody. */
export interface Breach {
  sentence: string
  account: string
}

/** One slice that was looked over. */
export interface Slice<Position> {
  breach: Breach | null
  /** Where the next slice begins; null at the end. */
  next: Position | null
}

type Reading = Pick<Store, 'read'>

/**
 * Accounts after `after`: what is posted is what their last entry left, what is held are their open holds. One statement,
 * so that a commit between two reads cannot look like a difference.
 */
export async function lookOverAccounts({ read }: Reading, after: string): Promise<Slice<string>> {
  const { rows } = await sql<AccountRow>`
    SELECT id, posted, held,
      coalesce((SELECT posted_after FROM entry WHERE entry.account = account.id ORDER BY seq DESC LIMIT 1), 0)
        AS entries_usd,
      (SELECT CAST(coalesce(sum(amount - staking_usd), 0) AS BIGINT) FROM hold WHERE hold.account = account.id)
        AS holds_usd
    FROM account WHERE id > ${after} ORDER BY id LIMIT ${watchedAccounts}`.execute(read)
  const breach = rows.map(row => breachOf(row)).find(each => each !== null) ?? null
  return { breach, next: rows.length < watchedAccounts ? null : (rows.at(-1)?.id ?? null) }
}

interface AccountRow {
  id: string
  posted: bigint
  held: bigint
  entries_usd: bigint
  holds_usd: bigint
}

function breachOf({ id: account, posted, held, entries_usd, holds_usd }: AccountRow): Breach | null {
  if (posted !== entries_usd) return { account, sentence: 'The balance of an account is not what its entries left.' }
  if (held !== holds_usd) return { account, sentence: 'What an account holds is not the sum of its open holds.' }
  if (held < 0n || posted < held) return { account, sentence: 'An account is below zero.' }
  return null
}

/** Entries after `after`: each leaves what the one before it left, and its own effect. */
export async function lookOverEntries({ read }: Reading, after: number): Promise<Slice<number>> {
  const { rows } = await sql<EntryRow>`
    SELECT seq, account, effect, posted_after,
      coalesce((SELECT posted_after FROM entry AS earlier WHERE earlier.account = entry.account
        AND earlier.seq < entry.seq ORDER BY earlier.seq DESC LIMIT 1), 0) AS before_usd
    FROM entry WHERE seq > ${after} ORDER BY seq LIMIT ${watchedEntries}`.execute(read)
  const wrong = rows.find(row => row.before_usd + row.effect !== row.posted_after)
  const breach = wrong ? { account: wrong.account, sentence: 'An entry does not follow from the one before it.' } : null
  return { breach, next: rows.at(-1)?.seq ?? null }
}

interface EntryRow {
  seq: number
  account: string
  effect: bigint
  posted_after: bigint
  before_usd: bigint
}

/** Where the newest `count` entries begin. */
export async function newestEntries({ read }: Reading, count: number): Promise<number> {
  const last = await read.selectFrom('entry').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
  return Math.max(0, (last?.seq ?? 0) - count)
}
