import type { KeptCharge } from '#agent/receipts/kept-charges.ts'
import type { OwnerDesk } from '#agent/wallet/owner-desk.ts'
import { displayUsd, formatUsd } from '#contract/money.ts'
import { parseArguments, wrongUsage } from '../arguments.ts'
import type { CommandIo } from '../command.ts'
import { asJson } from './as-json.ts'
import { addressesOf, atDesk } from './at-desk.ts'
import { type Columns, csvTable } from './csv-table.ts'
import { passphraseFlags } from './given-passphrase.ts'
import { listedReceipts, shownReceipts } from './limits.ts'
import { showRefusals } from './show-refusals.ts'
import { plainText } from './terminal.ts'

const command = 'farebox wallet receipts'
const options = {
  data: { type: 'string' },
  json: { type: 'boolean', default: false },
  csv: { type: 'boolean', default: false },
  refused: { type: 'boolean', default: false },
  ...passphraseFlags,
} as const

/** What left the wallet and what services charged, or what it refused, newest first: as lines, as JSON, or as CSV. */
export async function showReceipts(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command, options })
  if (values.json && values.csv) throw wrongUsage(command, 'Choose one of `--json` and `--csv`')
  if (values.refused) return showRefusals(command, values, io)
  return atDesk(io, values.data, async desk => {
    const { keptCharges } = await import('#agent/receipts/kept-charges.ts')
    const most = values.json || values.csv ? listedReceipts : shownReceipts
    const payments = (await desk.receipts(most)).map(topUp)
    const receipts = [...payments, ...keptCharges(desk.folder, most).map(charge)].sort((a, b) => b.atMs - a.atMs)
    if (values.json) io.output.print(asJson(receipts.map(({ kind, whole }) => ({ ...whole, kind }))))
    else if (values.csv) await io.output.stream(csvTable(columns, receipts))
    else if (receipts.length === 0) {
      await addressesOf(desk)
      io.output.print('The wallet has not paid anything yet.')
    } else for (const receipt of receipts) io.output.print(plainText(lineOf(receipt)))
    return 0
  })
}

interface Shown {
  kind: 'top-up' | 'charge' | 'refund'
  atMs: number
  amount: bigint | null
  state: string
  service: string
  id: string
  what: string
  usage: string
  model: string | null
  transaction: string | null
  problem: string | null
  receipt: string | null
  whole: object
}

type Payment = Awaited<ReturnType<OwnerDesk['receipts']>>[number]

const topUp = (payment: Payment): Shown => ({
  kind: 'top-up',
  atMs: payment.createdAtMs,
  amount: payment.amountMicroUsd,
  state: payment.state,
  service: payment.origin,
  id: payment.id,
  what: payment.purpose,
  usage: '',
  model: null,
  transaction: payment.transaction,
  problem: payment.reason,
  receipt: null,
  whole: payment,
})

const charge = (kept: KeptCharge): Shown => ({
  ...{ kind: kept.kind, atMs: kept.atMs, amount: kept.amountMicroUsd, state: kept.state, service: kept.service },
  ...{ id: kept.id, what: kept.what ?? kept.model ?? '', model: kept.model, transaction: null, problem: kept.problem },
  ...{ usage: kept.usage.map(({ sku, units }) => `${units} ${sku}`).join(', '), receipt: kept.receipt, whole: kept },
})

function lineOf({ atMs, kind, amount, state, service, id, what, usage, problem }: Shown): string {
  const shown = amount === null ? 'unknown amount' : displayUsd(amount)
  const parts = [new Date(atMs).toISOString(), kind, shown, state, service, id, what, usage]
  return [...parts, kind === 'top-up' ? null : problem].filter(Boolean).join('  ')
}

const columns: Columns<Shown> = [
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
]
