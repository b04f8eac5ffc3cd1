import { dirname, join } from 'node:path'
import type { ListedBalance } from '#ledger/accounts/balances.ts'
import type { ChainAuditReport } from '#ledger/audit/audit-chain.ts'
import type { AuditReader } from '#ledger/audit/audit-reader.ts'
import { fewestMonthsKept, monthsKept, mostMonthsKept } from '#ledger/bounds.ts'
import { auditLines, chainAuditLines } from '../admin/show-ledger.ts'
import {
  byWord,
  CliError,
  type Command,
  type CommandIo,
  integerFlag,
  parseArguments,
  wrongUsage,
  wrongValue,
} from '../command.ts'
import { type LedgerPlace, openReader, withSameSchema } from '../data/ledger-place.ts'
import { servicePlaceOf } from '../data/service-place.ts'
import { asJson } from '../output.ts'

const name = 'farebox ledger'

const usage = `Usage: farebox ledger balance [ACCOUNT] [--data DIR] [--json]
       farebox ledger audit [--chain] [--data DIR] [--json]
       farebox ledger export [--account ID] [--from TIME] [--to TIME] [--data DIR]
       farebox ledger compact [--keep-months N] [--archive DIR] [--dry-run] [--data DIR] [--json]
       farebox ledger reopen [--data DIR] [--json]

balance  shows the available credit of each account (posted credit less the holds of running calls), and the rest of
         today's staking credit if some was used
audit    recomputes the ledger from its rows alone, with separate code, and exits with 1 if anything does not add up;
         with --chain it also compares what was credited with what reached the payee
export   prints every row of the ledger as CSV
compact  writes the rows of old months to archive files, then replaces their charges with monthly sums. If the ledger is
         in SQLite, stop the service first
reopen   audits a ledger that became read-only because it did not add up, and allows paid calls again if it now does

The service can keep running, except during compact on SQLite.

  ACCOUNT          show only this account
  --chain          ask the nodes at FAREBOX_EVM_RPC_URL and FAREBOX_SOLANA_RPC_URL, or the local chains of this folder
  --account ID     only the rows of this account
  --from TIME      from this day or time on, UTC: 2026-11-01 or 2026-11-01T12:00:00Z
  --to TIME        before this day or time
  --keep-months N  full months before the current one to keep as they are (${monthsKept}; at least ${fewestMonthsKept})
  --archive DIR    where to write the rows of each month (the folder \`archive\` beside the ledger)
  --dry-run        show what would be compacted; change nothing
  --data DIR       the service's folder (the one in ./farebox.yaml, or .farebox)
  --json           the whole report as JSON; balances as one object per line`

export const ledger: Command = {
  usage,
  run: byWord(name, { balance, audit, export: exportLedger, compact, reopen }),
}

const data = { type: 'string' } as const

async function audit(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { chain: { type: 'boolean', default: false }, data, json: { type: 'boolean', default: false } },
  })
  const ledger = await servicePlaceOf(values.data, io.env)
  const reader = await openReader(ledger)
  try {
    const { audit: auditRows } = await import('#ledger/audit/audit.ts')
    const report = await withSameSchema(auditRows(reader))
    const chain = values.chain ? await auditChains(reader, ledger) : null
    if (values.json) io.output.print(asJson(chain ? { ...report, chain } : report))
    else
      for (const line of [...(await auditLines(report, io.output)), ...(chain ? chainAuditLines(chain) : [])])
        io.output.print(line)
    if (chain) await noteOtherChain(chain, ledger, io)
    return report.ok && chain?.ok !== false ? 0 : 1
  } finally {
    await reader.close()
  }
}

async function balance(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: name,
    options: { data, json: { type: 'boolean', default: false } },
    maxPositionals: 1,
  })
  const reader = await openReader(await servicePlaceOf(values.data, io.env))
  try {
    const [{ listBalances }, { balanceAsJson, balanceLines }] = await Promise.all([
      import('#ledger/accounts/balances.ts'),
      import('../admin/show-ledger.ts'),
    ])
    const [account] = positionals
    const say = async () => {
      if (account !== undefined) await requireAccount(reader, account)
      const shown: ListedBalance[] = []
      const print = async () => {
        for (const line of await balanceLines(shown.splice(0), io.output)) io.output.print(line)
      }
      for await (const each of listBalances(reader, Date.now(), account)) {
        if (values.json) io.output.printJson(balanceAsJson(each))
        else if (shown.push(each) >= balancesATable) await print()
      }
      await print()
    }
    await withSameSchema(say())
    return 0
  } finally {
    await reader.close()
  }
}

/** Rows that are held in memory to align them; a service may have many customers. */
const balancesATable = 500

/** An unknown name is a typing mistake; an empty result would look like an account without rows. */
async function requireAccount(reader: AuditReader, account: string): Promise<void> {
  const { hasAccount } = await import('#ledger/accounts/balances.ts')
  if (await hasAccount(reader, account)) return
  throw new CliError(
    `There is no account \`${account.slice(0, 100)}\`.`,
    '`farebox ledger balance` lists all accounts.',
  )
}

async function auditChains(reader: AuditReader, ledger: LedgerPlace): Promise<ChainAuditReport> {
  const [{ auditChain }, { NodeFailed }, { transferSource }] = await Promise.all([
    import('#ledger/audit/audit-chain.ts'),
    import('#ledger/audit/audit-transfers.ts'),
    import('../admin/ledger-transfers.ts'),
  ])
  try {
    return await auditChain(reader, network => transferSource(network, ledger))
  } catch (error) {
    if (!(error instanceof NodeFailed)) throw error
    throw new CliError(error.message, 'Use another node, or try again later.')
  }
}

async function noteOtherChain({ payees }: ChainAuditReport, ledger: LedgerPlace, io: CommandIo): Promise<void> {
  const { otherChain } = await import('../admin/ledger-transfers.ts')
  const sentence = otherChain(payees, ledger)
  if (sentence) io.output.note(sentence)
}

async function reopen(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { data, json: { type: 'boolean', default: false } },
  })
  const { reopenLedger } = await import('../admin/operator.ts')
  return reopenLedger(await servicePlaceOf(values.data, io.env), values.json, io)
}

async function compact(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: {
      'keep-months': { type: 'string' },
      archive: { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
      data,
      json: { type: 'boolean', default: false },
    },
  })
  const keep = integerFlag(name, 'keep-months', values['keep-months'], fewestMonthsKept, mostMonthsKept) ?? monthsKept
  const ledger = await servicePlaceOf(values.data, io.env)
  const { compactLedgerAt, sayCompaction } = await import('../admin/compact-ledger.ts')
  const report = await compactLedgerAt(ledger, {
    nowMs: Date.now(),
    keep,
    archive: values.archive ?? join(dirname(ledger.folder.database), 'archive'),
    isDryRun: values['dry-run'],
    note: line => io.output.note(line),
  })
  if (values.json) io.output.printJson(report)
  else for (const line of sayCompaction(report)) io.output.print(line)
  return 0
}

async function exportLedger(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { account: { type: 'string' }, from: { type: 'string' }, to: { type: 'string' }, data },
  })
  const filter = {
    ...(values.account === undefined ? {} : { account: values.account }),
    ...(values.from === undefined ? {} : { fromMs: timeOf('from', values.from) }),
    ...(values.to === undefined ? {} : { toMs: timeOf('to', values.to) }),
  }
  if (filter.fromMs !== undefined && filter.toMs !== undefined && filter.fromMs >= filter.toMs)
    throw wrongUsage(name, '`--from` must be before `--to`')
  const reader = await openReader(await servicePlaceOf(values.data, io.env))
  try {
    const { exportCsv } = await import('#ledger/audit/csv.ts')
    if (filter.account !== undefined) await withSameSchema(requireAccount(reader, filter.account))
    await withSameSchema(io.output.stream(exportCsv(reader, filter)))
    return 0
  } finally {
    await reader.close()
  }
}

/** A day means its first moment, in UTC, the time of the ledger. */
function timeOf(flag: string, text: string): number {
  const match = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z)?$/.exec(text)
  const atMs = match ? Date.parse(text) : Number.NaN
  // A date such as 31 February would be parsed as another day.
  if (Number.isFinite(atMs) && new Date(atMs).toISOString().slice(0, 10) === match?.[1]) return atMs
  throw wrongValue(name, flag, text, 'a day such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z')
}
