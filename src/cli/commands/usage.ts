import type { OperatorInput } from '#operator/queries/wire.ts'
import { checkInput, openOperator } from '../admin/operator.ts'
import { given, money, place, text } from '../admin/operator-command.ts'
import { type Command, type CommandIo, parseArguments, wrongValue } from '../command.ts'
import { servicePlaceOf } from '../data/service-place.ts'
import { asJson } from '../output.ts'
import { counted } from '../show/counted.ts'
import { printTable } from '../show/table.ts'

const name = 'farebox usage'

const ways = ['customer', 'model', 'day'] as const
type Way = (typeof ways)[number]

const usage = `Usage: farebox usage [--by LIST] [--from DAY] [--to DAY] [--customer CUSTOMER] [--model MODEL] [--csv] [--data DIR]
                     [--json]

Prints what was sold: requests and USD by customer, model and day, and their sum. The figures match the ledger to the
micro-USD. \`charged\` is the price of the calls; \`revenue\` is what customers paid: charges less refunds, write-offs and
staking credit. Days are UTC.

  --by LIST            customer, model and day, in any combination, separated by commas (day)
  --from DAY           from this day on, such as 2026-11-01 (30 days ago)
  --to DAY             before this day (tomorrow)
  --customer CUSTOMER  only this customer: an id, a name, an e-mail, a wallet or a key id
  --model MODEL        only this model
  --csv                print every row as CSV (RFC 4180)
  --data DIR           the service's folder (the one in ./farebox.yaml, or .farebox)
  --json               print one JSON object per row`

/** Rows per query. */
const pageRows = 200

export const usageCommand: Command = {
  usage,
  async run(args, io) {
    const options = { by: text, from: text, to: text, customer: text, model: text, csv: place.json, ...place }
    const { values } = parseArguments(args, { command: name, options })
    const by = waysOf(values.by ?? 'day')
    const { from, to, customer, model } = values
    const { rows, totals } = await everyRow({ by, ...given({ from, to, customer, model }) }, values.data, io)
    const columns = [...by.flatMap(way => (way === 'customer' ? ['customer', 'name'] : [way])), ...figures]
    if (values.json) for (const row of rows) io.output.printJson(row)
    else if (values.csv) {
      const { csvTable } = await import('../output.ts')
      const cells = columns.map(column => [column, (row: Row) => cellOf(row, column)] as const)
      await io.output.stream(csvTable(cells, rows))
    } else {
      const shown = rows.map(row => columns.map(column => asJson(cellOf(row, column) || '–').slice(1, -1)))
      printTable(
        {
          head: columns.map(column => heads[column] ?? column),
          rows: shown,
          right: columns.flatMap((_, at) => (at < columns.length - figures.length ? [] : [at])),
        },
        io.output,
      )
      io.output.note(
        `${counted(rows.length, 'row')}: ${counted(totals.requests, 'request')}, ${money(totals.chargedUsd)} charged, ${money(totals.revenueUsd)} revenue.`,
      )
    }
    return 0
  },
}

const figureHeads = {
  requests: 'Requests',
  chargedUsd: 'Charged',
  refundedUsd: 'Refunded',
  writtenOffUsd: 'Written off',
  stakingUsd: 'Staking',
  revenueUsd: 'Revenue',
  toppedUpUsd: 'Topped up',
  grantedUsd: 'Granted',
}
const figures = Object.keys(figureHeads)

/** Headings for a terminal; files and programs get the names of the columns. */
const heads: Readonly<Record<string, string>> = {
  ...{ customer: 'Customer', name: 'Name', model: 'Model', day: 'Day, UTC' },
  ...figureHeads,
}

type Row = Record<string, string | number | null | undefined>

const cellOf = (row: Row, column: string): string | null => {
  const value = row[column]
  return value === undefined || value === null ? null : `${value}`
}

function waysOf(list: string): Way[] {
  const found = list.split(',').map(word => ways.find(way => way === word.trim()))
  if (found.every(way => way !== undefined)) return [...new Set(found)] as Way[]
  throw wrongValue(name, 'by', list, 'customer, model or day, or several of them separated by commas')
}

async function everyRow(order: OperatorInput<'usage'>, data: string | undefined, io: CommandIo) {
  await checkInput(name, 'usage', order)
  const operator = await openOperator(await servicePlaceOf(data, io.env))
  try {
    const first = await operator.operate('usage', { ...order, limit: pageRows })
    const rows: Row[] = [...first.rows]
    for (let { next } = first; next !== null; ) {
      const page = await operator.operate('usage', { ...order, limit: pageRows, after: next })
      rows.push(...page.rows)
      next = page.next
    }
    return { rows, totals: first.totals }
  } finally {
    await operator.close()
  }
}
