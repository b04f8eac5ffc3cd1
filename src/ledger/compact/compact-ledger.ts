import { type Kysely, sql } from 'kysely'
import { hourMs } from '#contract/time.ts'
import { compactedAccounts, foldedAtOnce, openWorkListed, pruneSliceRows } from '../bounds.ts'
import type { FoldingStore } from '../store/entry-fold.ts'
import type { Tables } from '../store/tables.ts'
import { uuidV7Floor } from '../store/uuid-v7.ts'
import { foldedColumns, foldRun, isFolded, type OldEntry } from './fold-entries.ts'

/** The result of compacting one month of entries. */
export interface CompactedMonth {
  /** Such as 2026-03, in UTC. */
  month: string
  fromMs: number
  toMs: number
  accounts: number
  /** How many entries are removed, and how many sums replace them. */
  entries: number
  sums: number
}

type Reading = Kysely<Tables>

/** Returns the first moment, in UTC, of the months to keep. Entries before it are folded. */
export function compactedBefore(nowMs: number, monthsKept: number): number {
  const now = new Date(nowMs)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsKept)
}

/** Lists calls and jobs that began before this time and have not ended. Folding could remove rows that they need. */
export async function openWorkBefore(read: Reading, beforeMs: number): Promise<string[]> {
  const { rows } = await sql<{ work: string }>`SELECT 'hold ' || id AS work FROM hold WHERE created_at_ms < ${beforeMs}
    UNION ALL SELECT 'job ' || id FROM job WHERE created_at_ms < ${beforeMs} AND state IN ('queued', 'running')
    UNION ALL SELECT 'idempotency key ' || id FROM claim WHERE created_at_ms < ${beforeMs} AND state = 'running'
    LIMIT ${openWorkListed}`.execute(read)
  return rows.map(({ work }) => work)
}

/** Returns what compaction would do, in order of months; changes nothing. */
export async function planCompaction(read: Reading, beforeMs: number): Promise<CompactedMonth[]> {
  const months = new Map<string, CompactedMonth & { last: string }>()
  for await (const { account, run, sums } of runsBefore(read, beforeMs)) {
    const month = monthOf(run[0]?.created_at_ms ?? 0)
    const before = months.get(month.month) ?? { ...month, accounts: 0, entries: 0, sums: 0, last: '' }
    months.set(month.month, {
      ...before,
      accounts: before.accounts + (before.last === account ? 0 : 1),
      entries: before.entries + run.length,
      sums: before.sums + sums.length,
      last: account,
    })
  }
  return [...months.values()].map(({ last: _, ...month }) => month).sort((a, b) => a.fromMs - b.fromMs)
}

/**
 * Folds the planned entries in one transaction for each run, and deletes the ids of holds that ended before. After a
 * kill, the next run continues with the remaining entries. Returns the number of removed entries.
 */
export async function compactLedger(store: FoldingStore, beforeMs: number): Promise<number> {
  let gone = 0
  for await (const { account, run, sums } of runsBefore(store.read, beforeMs)) {
    const [firstSeq, lastSeq] = [run[0]?.seq ?? 0, run.at(-1)?.seq ?? 0]
    await store.foldEntries({ account, firstSeq, lastSeq, count: run.length, entries: sums, beforeMs })
    gone += run.length - sums.length
  }
  const ended = { table: 'ended_hold', beforeId: uuidV7Floor(beforeMs) } as const
  while ((await store.prune(ended, pruneSliceRows)) === pruneSliceRows);
  return gone
}

interface FoldableRun {
  account: string
  run: OldEntry[]
  sums: ReturnType<typeof foldRun>
}

/**
 * Yields runs that become smaller. An account is read before its next run is requested, so runs may be folded in
 * between.
 */
async function* runsBefore(read: Reading, beforeMs: number): AsyncGenerator<FoldableRun> {
  for await (const account of accountsOf(read)) {
    for await (const run of runsOf(read, account, beforeMs)) {
      const sums = foldRun(run)
      if (sums.length < run.length) yield { account, run, sums }
    }
  }
}

async function* accountsOf(read: Reading): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const accounts = read.selectFrom('account').select('id').where('id', '>', after).orderBy('id')
    const rows = await accounts.limit(compactedAccounts).execute()
    for (const { id } of rows) yield id
    after = rows.at(-1)?.id ?? ''
    if (rows.length < compactedAccounts) return
  }
}

/**
 * Entries are in order of time, except that the clocks of processes may differ by up to this much. An entry younger
 * than this ends the search.
 */
const outOfOrderMs = hourMs

/**
 * Yields consecutive entries of an account in one month that may be folded. Top-ups, grants and refunded charges are
 * kept: a charge and its refund may be months apart, and there are few of them.
 */
async function* runsOf(read: Reading, account: string, beforeMs: number): AsyncGenerator<OldEntry[]> {
  const refunded = await refundedRequests(read, account)
  const mayGo = ({ kind, request, created_at_ms }: OldEntry): boolean =>
    (kind === 'CHARGE' || kind === 'STAKING' || kind === 'WRITE_OFF') &&
    created_at_ms < beforeMs &&
    request !== null &&
    !isFolded(request) &&
    !refunded.has(request)
  let run: OldEntry[] = []
  for await (const entry of entriesOf(read, account)) {
    const last = run.at(-1)
    if (last && !(mayGo(entry) && goesOn(run, last, entry))) {
      yield run
      run = []
    }
    if (mayGo(entry)) run.push(entry)
    if (entry.created_at_ms >= beforeMs + outOfOrderMs) break
  }
  if (run.length) yield run
}

/** A request's entries are never split. */
const goesOn = (run: readonly OldEntry[], last: OldEntry, next: OldEntry): boolean =>
  last.request === next.request ||
  (run.length < foldedAtOnce && monthOf(last.created_at_ms).fromMs === monthOf(next.created_at_ms).fromMs)

async function refundedRequests(read: Reading, account: string): Promise<Set<string | null>> {
  const refunds = read.selectFrom('entry').select('request').where('account', '=', account).where('kind', '=', 'REFUND')
  return new Set((await refunds.execute()).map(({ request }) => request))
}

async function* entriesOf(read: Reading, account: string): AsyncGenerator<OldEntry> {
  for (let after = 0; ; ) {
    const rows = await read
      .selectFrom('entry')
      .select(foldedColumns)
      .where('account', '=', account)
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(foldedAtOnce)
      .execute()
    yield* rows
    after = rows.at(-1)?.seq ?? after
    if (rows.length < foldedAtOnce) return
  }
}

function monthOf(atMs: number): Pick<CompactedMonth, 'month' | 'fromMs' | 'toMs'> {
  const at = new Date(atMs)
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
  return { month: at.toISOString().slice(0, 7), fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) }
}
