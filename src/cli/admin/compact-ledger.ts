import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { makeFolder, renameFile, syncFile, syncFolder } from '#host/files.ts'
import type { AuditReport } from '#ledger/audit/audit.ts'
import type { CompactedMonth } from '#ledger/compact/compact-ledger.ts'
import type { FoldingStore } from '#ledger/store/store.ts'
import { CliError } from '../command.ts'
import { type LedgerPlace, openLedger, openReader, withSameSchema } from '../data/ledger-place.ts'
import { openWhenFree } from '../data/service-admin.ts'
import { counted } from '../show/counted.ts'

interface CompactionOrder {
  nowMs: number
  /** Whole months before this one that stay as they are. */
  keep: number
  /** Folder of the archive files. */
  archive: string
  isDryRun: boolean
  /** Called with what is being done, because compacting takes a while. */
  note(line: string): void
}

interface Audits {
  before: AuditReport
  after: AuditReport
}

interface CompactionReport {
  dryRun: boolean
  /** Entries before this time may be sums from now on. */
  before: string
  months: { month: string; accounts: number; entries: number; sums: number; archive: string | null }[]
  entriesBefore: number
  entriesAfter: number
}

/**
 * Writes the entries of each old month to its own file, then folds them. The file is on disk before anything is folded,
 * and the ledger is audited before and after.
 */
export async function compactLedgerAt(ledger: LedgerPlace, order: CompactionOrder): Promise<CompactionReport> {
  const { compactedBefore } = await import('#ledger/compact/compact-ledger.ts')
  const beforeMs = compactedBefore(order.nowMs, order.keep)
  const report = (months: readonly CompactedMonth[], archives: readonly string[], audits: Audits) => ({
    dryRun: order.isDryRun,
    before: new Date(beforeMs).toISOString(),
    months: months.map(({ fromMs: _, toMs: __, ...month }, index) => ({ ...month, archive: archives[index] ?? null })),
    entriesBefore: audits.before.counts.entries,
    entriesAfter: audits.after.counts.entries,
  })
  if (order.isDryRun) {
    const before = await soundAudit(ledger, order)
    return report(await plannedBeside(ledger, beforeMs), [], { before, after: before })
  }
  // Throws if there is no ledger, which opening it would create.
  await (await openReader(ledger)).close()
  const open = () => openLedger(ledger)
  const store = await (ledger.database.engine === 'sqlite' ? openWhenFree(ledger.folder, open) : open())
  try {
    // Only now: a service that was ending may have written until the folder was free.
    const before = await soundAudit(ledger, order)
    const months = await planned(store.read, beforeMs)
    const archives = await archiveMonths(ledger, months, order)
    await folded(store, beforeMs, order)
    return report(months, archives, { before, after: await sameAudit(ledger, before, order) })
  } finally {
    await store.close()
  }
}

/** Only reads, so it may run while a service writes. */
async function plannedBeside(ledger: LedgerPlace, beforeMs: number): Promise<CompactedMonth[]> {
  const { database } = ledger
  if (database.engine === 'postgres') {
    const store = await openLedger(ledger)
    return planned(store.read, beforeMs).finally(() => store.close())
  }
  const { openSqliteReader } = await import('#ledger/store/sqlite/open.ts')
  const read = openSqliteReader(database.path)
  return planned(read, beforeMs).finally(() => read.destroy())
}

async function soundAudit(ledger: LedgerPlace, { note }: CompactionOrder): Promise<AuditReport> {
  note('Auditing the ledger.')
  const { audit } = await import('#ledger/audit/audit.ts')
  const reader = await openReader(ledger)
  try {
    // No process may be left to end a hold whose process died.
    const report = await withSameSchema(audit(reader, { expiredHoldMs: Number.MAX_SAFE_INTEGER }))
    if (report.ok) return report
    throw new CliError(
      'The ledger does not add up, so nothing was compacted.',
      'Run `farebox ledger audit` for details.',
    )
  } finally {
    await reader.close()
  }
}

async function planned(read: FoldingStore['read'], beforeMs: number): Promise<CompactedMonth[]> {
  const { openWorkBefore, planCompaction } = await import('#ledger/compact/compact-ledger.ts')
  const [open] = await openWorkBefore(read, beforeMs)
  if (open !== undefined) {
    throw new CliError(
      `The ${open} began before ${new Date(beforeMs).toISOString()} and has not ended, so nothing was compacted.`,
      'Start the service and let it finish, or keep more months with `--keep-months`.',
    )
  }
  return planCompaction(read, beforeMs)
}

/** One file for each month, complete and synced. A run after a killed one writes the remaining rows to another file. */
async function archiveMonths(ledger: LedgerPlace, months: readonly CompactedMonth[], order: CompactionOrder) {
  const files: string[] = []
  if (months.length) await makeFolder(order.archive)
  for (const month of months) {
    const file = await freeName(order.archive, month.month)
    await archiveMonth(ledger, month, file)
    order.note(`Wrote the entries of ${month.month} to ${file}.`)
    files.push(file)
  }
  return files
}

async function freeName(folder: string, month: string): Promise<string> {
  for (let number = 1; ; number++) {
    const file = join(folder, `entries-${month}${number > 1 ? `.${number}` : ''}.csv.gz`)
    if ((await stat(file).catch(() => null)) === null) return file
  }
}

const ownerOnly = 0o600

async function archiveMonth(ledger: LedgerPlace, { fromMs, toMs }: CompactedMonth, file: string): Promise<void> {
  const { exportCsv } = await import('#ledger/audit/csv.ts')
  const reader = await openReader(ledger)
  const part = `${file}.part`
  try {
    const lines = Readable.from(exportCsv(reader, { fromMs, toMs }))
    await pipeline(lines, createGzip(), createWriteStream(part, { mode: ownerOnly }))
  } finally {
    await reader.close()
  }
  await syncFile(part)
  await renameFile(part, file)
  await syncFolder(dirname(file))
}

async function folded(store: FoldingStore, beforeMs: number, { note }: CompactionOrder): Promise<void> {
  const { compactLedger } = await import('#ledger/compact/compact-ledger.ts')
  note('Compacting entries.')
  await compactLedger(store, beforeMs)
}

/**
 * The sums must be the same as before. On PostgreSQL a running service changes them, so there the ledger must only be
 * consistent.
 */
async function sameAudit(ledger: LedgerPlace, before: AuditReport, order: CompactionOrder): Promise<AuditReport> {
  const after = await soundAudit(ledger, order)
  if (ledger.database.engine === 'postgres' || moneyOf(after) === moneyOf(before)) return after
  throw new CliError(
    'The ledger adds up, but its sums differ from those before it was compacted.',
    'Do not start the service. Restore your last backup, and keep this ledger to find the reason.',
  )
}

const moneyOf = ({
  systemMicroUsd,
  driftMicroUsd,
  counts: { accounts, topUps, grants, refunds },
}: AuditReport): string =>
  JSON.stringify(
    [Object.entries(systemMicroUsd).sort(), driftMicroUsd, accounts, topUps, grants, refunds],
    (_, value) => (typeof value === 'bigint' ? `${value}` : value),
  )

/** The lines of a report for the user. */
export function sayCompaction({ dryRun, before, months, entriesBefore, entriesAfter }: CompactionReport): string[] {
  const day = before.slice(0, 10)
  if (!months.length) return [`There is nothing to compact before ${day}.`]
  const lines = months.map(
    ({ month, accounts, entries, sums }) =>
      `${month}: ${counted(entries, 'row')} of ${counted(accounts, 'account')} become ${counted(sums, 'sum')}`,
  )
  if (dryRun) return [...lines, 'Nothing was changed.']
  return [
    ...lines,
    `The ledger has ${entriesAfter} rows instead of ${entriesBefore}. Rows before ${day} are in the archive files.`,
  ]
}
