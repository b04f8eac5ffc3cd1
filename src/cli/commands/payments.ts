import type { OperatorAnswer } from '#operator/queries/wire.ts'
import { paymentStages } from '#pages/console/wire.ts'
import { operateBy, operateOnService } from '../admin/operator.ts'
import {
  type Command,
  type CommandIo,
  integerFlag,
  parseArguments,
  runWord,
  type Words,
  wrongUsage,
  wrongValue,
} from '../command.ts'
import { asJson } from '../output.ts'
import { printTable } from '../show/table.ts'

const name = 'farebox payments'

const stages = ['stuck', ...paymentStages] as const

const usage = `Usage: farebox payments list [--stage STAGE] [--payer ADDRESS] [--transaction ID] [--limit N] [--after NEXT] [--data DIR]
                             [--json]
       farebox payments look PAYMENT [--reason TEXT] [--data DIR] [--json]

list shows top-ups, newest first, and what to do about each one that is stuck: one that has not ended after an hour. look lets
the running service check a payment now: it credits one that arrived, and sends it again if that is still possible. No payment
is credited twice.

  --stage STAGE     ${stages.join(', ')}
  --payer ADDRESS   only payments of this wallet
  --transaction ID  only the payment with this transaction
  --limit N         rows, 200 at most (50)
  --after NEXT      continue after a page, with the value from its last line
  --reason TEXT     why, for the log
  --data DIR        the service's folder (that of farebox.yaml here, or .farebox)
  --json            print JSON`

const words: Words = { list, look }

export const payments: Command = {
  usage,
  run: (args, io) => runWord(name, words, args, io),
}

const text = { type: 'string' } as const
const place = { data: text, json: { type: 'boolean', default: false } } as const
const operate = operateBy(name)
const operateThere = operateOnService(name)

/** Ids of chains and payers, which no terminal obeys. */
const plain = (value: string | null): string => (value === null ? '' : asJson(value).slice(1, -1))

async function list(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { stage: text, payer: text, transaction: text, limit: text, after: text, ...place }
  const { values } = parseArguments(args, { command: name, options })
  const stage = stages.find(each => each === values.stage)
  if (values.stage !== undefined && !stage) throw wrongValue(name, 'stage', values.stage, `one of ${stages.join(', ')}`)
  const { payer, transaction, after } = values
  const limit = integerFlag(name, 'limit', values.limit, 1, 200)
  const given = Object.fromEntries(
    Object.entries({ stage, payer, transaction, limit, after }).filter(([, value]) => value !== undefined),
  )
  const answer = await operate('payments', given, values, io)
  if (values.json) {
    io.output.printJson(answer)
    return 0
  }
  const rows = answer.rows.map(row => [
    ...[timeOf(row.createdAtMs), row.isStuck ? `${row.stage}, stuck` : row.stage, row.amountUsd ?? ''],
    ...[plain(row.payer), plain(row.payment), plain(row.transaction)],
  ])
  printTable({ head: ['Begun, UTC', 'Stage', 'USD', 'Payer', 'Payment', 'Transaction'], rows, right: [2] }, io.output)
  for (const row of answer.rows) if (row.isStuck) for (const line of whatToDo(row)) io.output.note(line)
  const more = answer.next === null ? '' : ` The next page: \`--after '${answer.next}'\`.`
  io.output.note(`${rows.length} of ${answer.total ?? 'several'}.${more}`)
  return 0
}

/** The steps of the console, the first of which is a command here. */
const whatToDo = ({ payment, advice, steps }: OperatorAnswer<'payments'>['rows'][number]): string[] => [
  `${plain(payment)}: ${advice}`,
  ...steps.map((step, index) => `  ${index + 1}. ${step}`),
  `  To look again: \`farebox payments look '${plain(payment)}'\`.`,
]

const timeOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')

async function look(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: name,
    options: { reason: text, ...place },
    maxPositionals: 1,
  })
  const [payment] = positionals
  if (!payment) throw wrongUsage(name, 'The payment is missing; `farebox payments list --stage stuck` shows their ids')
  const { reason } = values
  const answer = await operateThere(
    'payment.look',
    { payment, ...(reason === undefined ? {} : { reason }) },
    values,
    io,
  )
  if (values.json) io.output.printJson(answer)
  else io.output.print(`The payment is ${answer.stage}. ${answer.outcome}`)
  return 0
}
