import { type Kysely, type Selectable, sql } from 'kysely'
import { hourMs } from '#contract/time.ts'
import { compactedAccounts, foldedAtOnce, openWorkListed, pruneSliceRows } from '../bounds.ts'
import type { FoldedEntry, FoldingStore } from '../store/store.ts'
import type { EntryTable, Tables } from '../store/tables.ts'
import { archived, entryRefs, isArchivedSum } from '../store/units.ts'
import { uuidV7Floor } from '../store/uuid-v7.ts'

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
    !isArchivedSum(request) &&
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

/** The columns of an entry that folding reads. */
const foldedColumns = [
  ...(['seq', 'kind', 'account', 'debit', 'credit', 'amount', 'effect', 'posted_after', 'request', 'model'] as const),
  ...(['sku', 'api_key', 'budget_period', 'budget_start_ms', 'staking_day_ms', 'created_at_ms'] as const),
] as const

type OldEntry = Pick<Selectable<EntryTable>, (typeof foldedColumns)[number]>

/** One unit of such a line is a micro-USD, because the calls that it replaces may have had different prices. */
const microUsdInPico = 1_000_000n

/** Requests that one key paid for, in one period of its budget, and with staking credit of one day or none. */
interface Group {
  payer: Pick<OldEntry, 'api_key' | 'budget_period' | 'budget_start_ms' | 'staking_day_ms'>
  writtenOff: bigint
  staking: bigint
  lines: Map<string, Pick<OldEntry, 'model' | 'sku'> & { amount: bigint }>
}

/**
 * Folds consecutive entries of one account and month, all of complete requests without refunds, into one charge for
 * each group of payers, with one line for each model and SKU. Each sum is an ordinary entry, so that every sum over the
 * entries, above all the audit's, stays the same.
 */
function foldRun(run: readonly OldEntry[]): FoldedEntry[] {
  const [first, last] = [run[0], run.at(-1)]
  if (!first || !last) return []
  const groups = [...groupsOf(run).values()]
  const sums = [...groups.flatMap(givenOf), ...groups.flatMap(linesOf)]
  let postedAfter = first.posted_after - first.effect
  return sums.map(({ group, kind, amount, line, model, sku }, place) => {
    const number = groups.indexOf(group)
    const request = `${archived}:${new Date(last.created_at_ms).toISOString().slice(0, 7)}:${first.seq}.${number}`
    const isLine = kind === 'CHARGE'
    postedAfter += isLine ? -amount : amount
    return {
      seq: run.at(place - sums.length)?.seq ?? last.seq,
      id: `${request}/${kind.toLowerCase()}.${line}`,
      kind,
      ...sidesOf(kind, first.account),
      account: first.account,
      amount,
      posted_after: postedAfter,
      ref: refs[kind](request),
      line,
      request,
      model,
      sku: sku === null ? null : `${archived}.${sku}`,
      units: isLine ? amount : null,
      unit_price_pico_usd: isLine ? microUsdInPico : null,
      reason: null,
      ...group.payer,
      staking_day_ms: kind === 'STAKING' ? group.payer.staking_day_ms : null,
      created_at_ms: last.created_at_ms,
    }
  })
}

type SumKind = 'WRITE_OFF' | 'STAKING' | 'CHARGE'

interface Sum {
  group: Group
  kind: SumKind
  amount: bigint
  line: number
  model: string | null
  sku: string | null
}

const refs = { WRITE_OFF: entryRefs.writeOff, STAKING: entryRefs.staking, CHARGE: entryRefs.charge }

const sidesOf = (kind: SumKind, account: string) =>
  ({
    WRITE_OFF: { debit: 'system:writeoff', credit: account },
    STAKING: { debit: 'system:staking', credit: account },
    CHARGE: { debit: account, credit: 'system:revenue' },
  })[kind]

function groupsOf(run: readonly OldEntry[]): Map<string, Group> {
  const groups = new Map<string, Group>()
  for (const entries of Map.groupBy(run, ({ request }) => request).values()) {
    const [entry] = entries
    if (!entry) continue
    const { api_key, budget_period, budget_start_ms } = entry
    const staking_day_ms = entries.find(({ kind }) => kind === 'STAKING')?.staking_day_ms ?? null
    const payer = { api_key, budget_period, budget_start_ms, staking_day_ms }
    const name = JSON.stringify(Object.values(payer))
    const group = groups.get(name) ?? { payer, writtenOff: 0n, staking: 0n, lines: new Map() }
    groups.set(name, group)
    for (const each of entries) addTo(group, each)
  }
  return groups
}

function addTo(group: Group, { kind, amount, model, sku }: OldEntry): void {
  if (kind === 'WRITE_OFF') group.writtenOff += amount
  else if (kind === 'STAKING') group.staking += amount
  else {
    const name = JSON.stringify([model, sku])
    const line = group.lines.get(name) ?? { model, sku, amount: 0n }
    group.lines.set(name, { ...line, amount: line.amount + amount })
  }
}

/** The parts that others paid come before the lines, as in each charge, so that no entry leaves a negative balance. */
function givenOf(group: Group): Sum[] {
  const rest = { group, line: 0, model: null, sku: null }
  return [
    { kind: 'WRITE_OFF' as const, amount: group.writtenOff, ...rest },
    { kind: 'STAKING' as const, amount: group.staking, ...rest },
  ].filter(({ amount }) => amount > 0n)
}

const linesOf = (group: Group): Sum[] =>
  [...group.lines.values()]
    .filter(({ amount }) => amount > 0n)
    .map((line, place) => ({ group, kind: 'CHARGE' as const, line: place, ...line }))
