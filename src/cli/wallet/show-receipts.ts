import type { ListedReceipt } from '#agent/receipts/listed-receipts.ts'
import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { displayUsd, formatUsd } from '#contract/money.ts'
import { type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { asJson, type Columns, csvTable } from '../output.ts'
import { type Paint, paintFor, type Tone } from '../show/style.ts'
import type { Table } from '../show/table.ts'
import { addressesOf, withOwnerWallet } from './owner-wallet.ts'
import { askHidden, givenPassphrase, listedReceipts, passphraseFlags, plainText, shownReceipts } from './terminal.ts'

const command = 'farebox wallet receipts'
const options = {
  data: { type: 'string' },
  json: { type: 'boolean', default: false },
  csv: { type: 'boolean', default: false },
  refused: { type: 'boolean', default: false },
  ...passphraseFlags,
} as const

/**
 * Shows what left the wallet and what services charged, or what it refused, newest first: as lines, as JSON, or as CSV.
 */
export async function showReceipts(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command, options })
  if (values.json && values.csv) throw wrongUsage(command, 'Use either `--json` or `--csv`, not both')
  if (values.refused) return showRefusals(command, values, io)
  return withOwnerWallet(io, values.data, async ownerWallet => {
    const [{ keptCharges }, { newestFirst }] = await Promise.all([
      import('#agent/receipts/receipt-rows.ts'),
      import('#agent/receipts/listed-receipts.ts'),
    ])
    const most = values.json || values.csv ? listedReceipts : shownReceipts
    const { openOwnerSends } = await import('#agent/wallet/send-from-wallet.ts')
    const sends = openOwnerSends(ownerWallet, io.env)
    const sent = await sends.list(most).finally(() => sends.close())
    const receipts = newestFirst(await ownerWallet.receipts(most), keptCharges(ownerWallet.folder, most), sent)
    if (values.json) io.output.print(asJson(receipts.map(({ kind, whole }) => ({ ...whole, kind }))))
    else if (values.csv) await io.output.stream(csvTable(columns, receipts))
    else if (receipts.length === 0) {
      await addressesOf(ownerWallet)
      io.output.print('The wallet has not paid anything yet.')
    } else if (io.output.isTerminal) await printShown(receiptTable(receipts, paintFor(io.output)), io)
    else for (const receipt of receipts) io.output.print(plainText(lineOf(receipt)))
    return 0
  })
}

async function printShown(table: Table, { output }: CommandIo): Promise<void> {
  const { printTable } = await import('../show/table.ts')
  printTable(table, output)
}

function lineOf({ atMs, kind, amount, state, service, id, what, usage, problem }: ListedReceipt): string {
  const shown = amount === null ? 'unknown amount' : displayUsd(amount)
  const parts = [new Date(atMs).toISOString(), kind, shown, state, service, id, what, usage]
  return [...parts, kind === 'top-up' ? null : problem].filter(Boolean).join('  ')
}

/** Fits a terminal's width. The service is shown only if there are several. */
function receiptTable(receipts: readonly ListedReceipt[], paint: Paint): Table {
  const isOneService = new Set(receipts.map(({ service }) => service)).size === 1
  const rows = receipts.map(({ atMs, kind, amount, state, service, id, what, usage, problem }) => {
    const more = [what, usage, kind === 'top-up' ? null : problem].filter(Boolean).join('; ')
    const shown = [amount === null ? 'unknown' : displayUsd(amount), state, id, isOneService ? '' : service, more]
    const [usd = '', end = '', ...rest] = shown.map(cell => plainText(cell).replaceAll('\n', ' '))
    return [minuteOf(atMs), kind, usd, paint(toneOf(state), end), ...rest]
  })
  return { head: ['When (UTC)', 'Kind', 'Amount', 'State', 'Id', 'Service', 'What'], rows, right: [2] }
}

const minuteOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')

const toneOf = (state: string): Tone => (['confirmed', 'verified'].includes(state) ? 'good' : 'caution')

const columns: Columns<ListedReceipt> = [
  ['time', ({ atMs }) => new Date(atMs).toISOString()],
  ['kind', ({ kind }) => kind],
  ['amount_usd', ({ amount }) => (amount === null ? null : formatUsd(amount))],
  ['state', ({ state }) => state],
  ['service', ({ service }) => service],
  ['id', ({ id }) => id],
  ['what', ({ what }) => what],
  ['model', ({ model }) => model],
  ['usage', ({ usage }) => usage],
  ['transaction', ({ transaction }) => transaction],
  ['problem', ({ problem }) => problem],
  ['receipt', ({ receipt }) => receipt],
  ['tool', ({ tool }) => tool],
]

interface Values {
  data?: string | undefined
  json: boolean
  csv: boolean
  'passphrase-file'?: string | undefined
  'passphrase-fd'?: string | undefined
}

/**
 * Shows what the wallet refused to pay, newest first; as JSON with a statement for each, signed by the key that would
 * have paid.
 */
async function showRefusals(command: string, values: Values, io: CommandIo): Promise<number> {
  const passphrase = values.json ? await givenPassphrase(command, values, io.env) : null
  return withOwnerWallet(io, values.data, async ownerWallet => {
    const refusals = await ownerWallet.refusals(values.json || values.csv ? listedReceipts : shownReceipts)
    if (values.json) io.output.print(asJson(await signed(io, ownerWallet, refusals, passphrase)))
    else if (values.csv) await io.output.stream(csvTable(refusalColumns, refusals))
    else if (refusals.length === 0) {
      await addressesOf(ownerWallet)
      io.output.print('The wallet has not refused anything yet.')
    } else if (io.output.isTerminal) await printShown(refusalTable(refusals), io)
    else for (const refusal of refusals) io.output.print(plainText(refusalLine(refusal)))
    return 0
  })
}

type Refusal = Awaited<ReturnType<OwnerWallet['refusals']>>[number]

async function signed(io: CommandIo, ownerWallet: OwnerWallet, refusals: readonly Refusal[], given: string | null) {
  if (refusals.length === 0) return []
  const opened = await ownerWallet.openKeys(given)
  const mayAsk = opened.length === 0 && ownerWallet.hasKeyFile() && io.stdin.isTTY
  const keys = mayAsk ? await ownerWallet.openKeys(await askHidden(io, 'Wallet passphrase (not shown):')) : opened
  const { signedRefusals } = await import('#agent/wallet/owner-wallet.ts')
  const statements = await signedRefusals(refusals, keys)
  const without = statements.filter(({ signature }) => signature === null).length
  if (without > 0)
    io.output.note(
      `${without} of ${statements.length} are not signed, because the key of their wallet is locked; unlock it with --passphrase-file.`,
    )
  return statements.map(statement => ({ ...statement, kind: 'refused' }))
}

function refusalLine({ lastAtMs, rule, amountMicroUsd, origin, operation, times, sentence }: Refusal): string {
  const amount = amountMicroUsd === null ? 'unknown amount' : displayUsd(amountMicroUsd)
  const counted = times === 1 ? null : `${times} times`
  const parts = [new Date(lastAtMs).toISOString(), 'refused', amount, rule, origin, operation, counted, sentence]
  return parts.filter(Boolean).join('  ')
}

function refusalTable(refusals: readonly Refusal[]): Table {
  const rows = refusals.map(({ lastAtMs, rule, amountMicroUsd, operation, times, sentence }) =>
    [
      minuteOf(lastAtMs),
      amountMicroUsd === null ? 'unknown' : displayUsd(amountMicroUsd),
      rule,
      operation,
      String(times),
      sentence,
    ].map(cell => plainText(cell ?? '').replaceAll('\n', ' ')),
  )
  return { head: ['Last (UTC)', 'Amount', 'Rule', 'Operation', 'Times', 'Why'], rows, right: [1, 4] }
}

const usdOf = (amount: bigint | null): string | null => (amount === null ? null : formatUsd(amount))

const refusalColumns: Columns<Refusal> = [
  ['first', ({ firstAtMs }) => new Date(firstAtMs).toISOString()],
  ['last', ({ lastAtMs }) => new Date(lastAtMs).toISOString()],
  ['times', ({ times }) => String(times)],
  ['rule', ({ rule }) => rule],
  ['amount_usd', ({ amountMicroUsd }) => usdOf(amountMicroUsd)],
  ['limit_usd', ({ limitMicroUsd }) => usdOf(limitMicroUsd)],
  ['left_usd', ({ leftMicroUsd }) => usdOf(leftMicroUsd)],
  ['service', ({ origin }) => origin],
  ['operation', ({ operation }) => operation],
  ['network', ({ network }) => network],
  ['asset', ({ asset }) => asset],
  ['payee', ({ payTo }) => payTo],
  ['wallet', ({ address }) => address],
  ['request', ({ requestHash }) => requestHash],
  ['id', ({ id }) => id],
  ['said', ({ sentence }) => sentence],
]
