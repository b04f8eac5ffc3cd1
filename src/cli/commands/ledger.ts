import type { ChainAuditReport } from '#ledger/audit/audit-chain.ts'
import type { AuditReader } from '#ledger/audit/audit-reader.ts'
import { sayAudit, sayChainAudit } from '../admin/say-ledger.ts'
import { CliError, type Command, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { defaultDataFolder } from '../data/data-folder.ts'
import { type LedgerPlace, ledgerPlaceOf, openReader, withSameSchema } from '../data/ledger-place.ts'

const name = 'farebox ledger'

const usage = `Usage: farebox ledger balance [ACCOUNT] [--data DIR] [--json]
       farebox ledger audit [--chain] [--data DIR] [--json]
       farebox ledger export [--account ID] [--from TIME] [--to TIME] [--data DIR]
       farebox ledger reopen [--data DIR]

balance shows what each account has: available (posted less what running calls hold), and what is left of today's staking
credit if some of it was used today. audit recomputes the ledger from its rows alone, with separate code, and exits with 1
if anything does not add up; with --chain it also compares what was credited with what reached the payee. export prints
every row of the ledger as CSV. All of these are safe beside a running service. A service makes its ledger
read-only if it does not add up; reopen audits it again and, if it adds up, allows paid calls.

  ACCOUNT       show only this account
  --chain       ask the nodes at FAREBOX_EVM_RPC_URL and FAREBOX_SOLANA_RPC_URL, or the local chains of this folder
  --account ID  the rows of this account only
  --from TIME   from this day or time on, UTC: 2026-11-01 or 2026-11-01T12:00:00Z
  --to TIME     before this day or time
  --data DIR    the service's folder (${defaultDataFolder}); the ledger is in DATABASE_URL if that is set
  --json        the whole report as JSON; balances as one object per line`

const words: Readonly<Record<string, (args: readonly string[], io: CommandIo) => Promise<number>>> = {
  balance,
  audit,
  export: exportLedger,
  reopen,
}

export const ledger: Command = {
  usage,
  async run(args, io) {
    const [word = '', ...rest] = args
    if (Object.hasOwn(words, word) && words[word]) return words[word](rest, io)
    const known = '`balance`, `audit`, `export`, `reopen`'
    throw wrongUsage(name, word === '' ? `Choose what to do: ${known}` : `\`${word}\` is not known; there is ${known}`)
  },
}

const data = { type: 'string', default: defaultDataFolder } as const

async function audit(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { chain: { type: 'boolean', default: false }, data, json: { type: 'boolean', default: false } },
  })
  const ledger = await ledgerPlaceOf(values.data, io.env)
  const reader = await openReader(ledger)
  try {
    const { audit: auditRows } = await import('#ledger/audit/audit.ts')
    const report = await withSameSchema(auditRows(reader))
    const chain = values.chain ? await auditChains(reader, ledger) : null
    if (values.json) io.output.print(asJson(chain ? { ...report, chain } : report))
    else for (const line of [...sayAudit(report), ...(chain ? sayChainAudit(chain) : [])]) io.output.print(line)
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
  const reader = await openReader(await ledgerPlaceOf(values.data, io.env))
  try {
    const [{ listBalances }, { balanceAsJson, sayBalance }] = await Promise.all([
      import('#ledger/accounts/balances.ts'),
      import('../admin/say-ledger.ts'),
    ])
    const [account] = positionals
    const say = async () => {
      if (account !== undefined) await requireAccount(reader, account)
      for await (const each of listBalances(reader, Date.now(), account)) {
        if (values.json) io.output.printJson(balanceAsJson(each))
        else io.output.print(sayBalance(each))
      }
    }
    await withSameSchema(say())
    return 0
  } finally {
    await reader.close()
  }
}

/** A name that is not there is a slip of the hand; nothing would look like an account without rows. */
async function requireAccount(reader: AuditReader, account: string): Promise<void> {
  const { hasAccount } = await import('#ledger/accounts/balances.ts')
  if (await hasAccount(reader, account)) return
  throw new CliError('There is no such account.', '`farebox ledger balance` lists all accounts.')
}

const asJson = (value: object): string =>
  JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${member}` : member))

async function auditChains(reader: AuditReader, ledger: LedgerPlace): Promise<ChainAuditReport> {
  const [{ auditChain }, { NodeFailed }, { transferSource }] = await Promise.all([
    import('#ledger/audit/audit-chain.ts'),
    import('#ledger/audit/audit-transfers.ts'),
    import('../wallet/local-nodes.ts'),
  ])
  try {
    return await auditChain(reader, network => transferSource(network, ledger))
  } catch (error) {
    if (!(error instanceof NodeFailed)) throw error
    throw new CliError(error.message, 'Use another node, or try again later.')
  }
}

async function noteOtherChain({ payees }: ChainAuditReport, ledger: LedgerPlace, io: CommandIo): Promise<void> {
  const { otherChain } = await import('../wallet/local-nodes.ts')
  const sentence = otherChain(payees, ledger)
  if (sentence) io.output.note(sentence)
}

async function reopen(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command: name, options: { data } })
  const { reopenLedger } = await import('../admin/operator.ts')
  return reopenLedger(await ledgerPlaceOf(values.data, io.env), io)
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
    throw wrongUsage(name, '`--from` has to be before `--to`')
  const reader = await openReader(await ledgerPlaceOf(values.data, io.env))
  try {
    const { exportCsv } = await import('#ledger/audit/csv.ts')
    if (filter.account !== undefined) await withSameSchema(requireAccount(reader, filter.account))
    await withSameSchema(io.output.stream(exportCsv(reader, filter)))
    return 0
  } finally {
    await reader.close()
  }
}

/** A day is its first moment. Only UTC, the time of the ledger. */
function timeOf(flag: string, text: string): number {
  const match = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z)?$/.exec(text)
  const atMs = match ? Date.parse(text) : Number.NaN
  // A date such as 31 February is read as another day.
  if (Number.isFinite(atMs) && new Date(atMs).toISOString().slice(0, 10) === match?.[1]) return atMs
  throw wrongUsage(name, `\`--${flag}\` takes a day such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z`)
}
