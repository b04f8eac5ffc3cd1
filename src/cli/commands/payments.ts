import type { OperatorAnswer } from '#operator/queries/wire.ts'
import { paymentStages } from '#pages/console/wire.ts'
import { operateBy, operateOnService } from '../admin/operator.ts'
import { given, notePage, pageOf, paging, place, plain, text, timeOf } from '../admin/operator-command.ts'
import { byWord, type Command, type CommandIo, parseArguments, wrongUsage, wrongValue } from '../command.ts'
import { printTable } from '../show/table.ts'

const name = 'farebox payments'

const stages = ['stuck', ...paymentStages] as const

const usage = `Usage: farebox payments list [--stage STAGE] [--payer ADDRESS] [--transaction ID] [--limit N] [--after NEXT]
                             [--data DIR] [--json]
       farebox payments check PAYMENT [--reason TEXT] [--data DIR] [--json]

list   shows top-ups, newest first, and what to do about each stuck one. A top-up is stuck if it has not ended after an
       hour
check  has the running service ask the chain about a payment now: the service credits it if it arrived, and otherwise
       sends it again if that is still possible. No payment is credited twice

  --stage STAGE     ${stages.join(', ')}
  --payer ADDRESS   only payments of this wallet
  --transaction ID  only the payment with this transaction
  --limit N         rows, 200 at most (50)
  --after NEXT      the next page; NEXT is on the last line of the page before
  --reason TEXT     why, for the log
  --data DIR        the service's folder (the one in ./farebox.yaml, or .farebox)
  --json            print JSON`

export const payments: Command = { usage, run: byWord(name, { list, check }) }

const operate = operateBy(name)
const operateThere = operateOnService(name)

async function list(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { stage: text, payer: text, transaction: text, ...paging, ...place }
  const { values } = parseArguments(args, { command: name, options })
  const stage = stages.find(each => each === values.stage)
  if (values.stage !== undefined && !stage) throw wrongValue(name, 'stage', values.stage, `one of ${stages.join(', ')}`)
  const { payer, transaction } = values
  const filter = given({ stage, payer, transaction })
  const answer = await operate('payments', { ...filter, ...pageOf(name, values) }, values, io)
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
  notePage(answer, io)
  return 0
}

/** The steps of the console, the first of which is a command here. */
const whatToDo = ({ payment, advice, steps }: OperatorAnswer<'payments'>['rows'][number]): string[] => [
  `${plain(payment)}: ${advice}`,
  ...steps.map((step, index) => `  ${index + 1}. ${step}`),
  `  To check it again: \`farebox payments check '${plain(payment)}'\`.`,
]

async function check(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { reason: text, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const [payment] = positionals
  if (!payment) throw wrongUsage(name, 'The payment is missing; `farebox payments list --stage stuck` shows their ids')
  const answer = await operateThere('payment.check', { payment, ...given({ reason: values.reason }) }, values, io)
  if (values.json) io.output.printJson(answer)
  else io.output.print(`The payment is ${answer.stage}. ${answer.outcome}`)
  return 0
}
