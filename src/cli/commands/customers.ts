import { randomUUID } from 'node:crypto'
import { planNames } from '#contract/limits.ts'
import { displayUsd, parseUsd } from '#contract/money.ts'
import { textOfDay } from '#contract/time.ts'
import type { OperatorAnswer } from '#operator/queries/wire.ts'
import type { ActView } from '#pages/console/answers.ts'
import { operateBy } from '../admin/operator.ts'
import {
  given,
  money,
  notePage,
  pageOf,
  paging,
  place,
  plain,
  printed,
  shown,
  text,
  timeOf,
} from '../admin/operator-command.ts'
import { byWord, CliError, type Command, type CommandIo, parseArguments, wrongUsage, wrongValue } from '../command.ts'
import { AnswerLost } from '../data/service-admin.ts'
import { asJson } from '../output.ts'
import { counted } from '../show/counted.ts'
import { printTable } from '../show/table.ts'

const name = 'farebox customers'

const usage = `Usage: farebox customers list [--search TEXT] [--suspended] [--sort ORDER] [--from DAY] [--to DAY] [--limit N]
                              [--after NEXT] [--data DIR] [--json]
       farebox customers show CUSTOMER [--from DAY] [--to DAY] [--data DIR] [--json]
       farebox customers create NAME [--email TEXT] [--note TEXT] [--plan PLAN] [--reason TEXT] [--data DIR] [--json]
       farebox customers rename CUSTOMER [NAME] [--email TEXT] [--note TEXT] [--reason TEXT] [--data DIR] [--json]
       farebox customers credit CUSTOMER --usd N --reason TEXT [--id ID] [--data DIR] [--json]
       farebox customers refund REQUEST --reason TEXT [--data DIR] [--json]
       farebox customers suspend CUSTOMER --reason TEXT [--data DIR] [--json]
       farebox customers resume CUSTOMER [--reason TEXT] [--data DIR] [--json]
       farebox customers limit CUSTOMER --plan PLAN [--reason TEXT] [--data DIR] [--json]
       farebox customers log [CUSTOMER] [--limit N] [--after NEXT] [--data DIR] [--json]

list     shows customers with their balance and what they spent between two days
show     shows one customer: spending by model, keys, limits that were hit, and the latest requests
create   adds a customer without credit or key; \`farebox keys create --account\` creates a key
rename   changes the name, the e-mail or the note
credit   adds credit and prints an id; if you repeat it with that \`--id\`, nothing more is added
refund   returns the whole charge of a request, once
suspend  ends running calls within seconds, and refuses new ones with 403
resume   lets a suspended customer call again
limit    gives a customer the rate limits of a plan
log      shows who did what and why, newest first

CUSTOMER can be an id, a name, an e-mail, a wallet or a key id. Days are UTC.

  --search TEXT  part of a name, an e-mail, a note or an id, or a whole wallet address or key id
  --suspended    only suspended customers
  --sort ORDER   created, name, balance or charged (created)
  --from DAY     from this day on, such as 2026-11-01 (30 days ago)
  --to DAY       before this day (tomorrow)
  --limit N      rows, 200 at most (50)
  --after NEXT   the next page; NEXT is on the last line of the page before
  --email TEXT   an e-mail address; an empty text removes it
  --note TEXT    a note for operators; an empty text removes it
  --plan PLAN    ${planNames.join(' or ')}; \`limit\` also takes \`configured\`, the plan of the configuration
  --usd N        credit, for example 5 or 0.25
  --reason TEXT  why, for the log
  --id ID        with credit: the id of the credit to repeat, if its answer was lost (a new id)
  --data DIR     the service's folder (the one in ./farebox.yaml, or .farebox)
  --json         print JSON`

export const customers: Command = {
  usage,
  run: byWord(name, { list, show, create, rename, credit, refund, suspend, resume, limit, log }),
}

const days = { from: text, to: text } as const

const operate = operateBy(name)

const required = (what: string, value: string | undefined): string => {
  if (value !== undefined && value.trim() !== '') return value
  throw wrongUsage(name, `${what} is missing`)
}

function choice<Choice extends string>(flag: string, value: string, choices: readonly Choice[]): Choice {
  const found = choices.find(each => each === value)
  if (found) return found
  throw wrongValue(name, flag, value, `one of ${choices.join(', ')}`)
}

async function list(args: readonly string[], io: CommandIo): Promise<number> {
  const suspended = { type: 'boolean', default: false } as const
  const options = { search: text, suspended, sort: text, ...days, ...paging, ...place }
  const { values } = parseArguments(args, { command: name, options })
  const { search, from, to, sort = 'created' } = values
  const order = {
    sort: choice('sort', sort, ['created', 'name', 'balance', 'charged']),
    ...given({ search, from, to }),
  }
  const state = values.suspended ? { state: 'suspended' as const } : {}
  const up = sort === 'name' ? { order: 'up' as const } : {}
  const answer = await operate('customers', { ...order, ...state, ...up, ...pageOf(name, values) }, values, io)
  if (values.json) io.output.printJson(answer)
  else {
    const head = ['Customer', 'Name', 'State', 'Balance', 'Held', 'Charged', 'Requests', 'Created']
    const rows = answer.rows.map(row => [
      ...[plain(row.customer), shown(row.name), row.state, row.balanceUsd, row.heldUsd, row.chargedUsd],
      ...[`${row.requests}`, textOfDay(row.createdAtMs)],
    ])
    printTable({ head, rows, right: [3, 4, 5, 6] }, io.output)
    notePage(answer, io)
  }
  return 0
}

async function show(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { ...days, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const customer = required('The customer', positionals[0])
  const { from, to } = values
  const answer = await operate('customer', { customer, ...given({ from, to }) }, values, io)
  if (values.json) {
    io.output.printJson(answer)
    return 0
  }
  for (const line of sayCustomer(answer)) io.output.print(line)
  const newest = { customer: answer.customer.customer, kind: 'CHARGE', limit: latestCharges } as const
  const charges = await operate('entries', newest, values, io)
  for (const line of sayRequests(charges)) io.output.print(line)
  return 0
}

/** A request has a few entries, one for each kind of token or media. */
const latestCharges = 40
const shownRequests = 5

/** The latest requests, whose ids a refund names. */
function sayRequests({ rows, next }: OperatorAnswer<'entries'>): string[] {
  const requests = new Map<string, typeof rows>()
  for (const row of rows) requests.set(row.request ?? '', [...(requests.get(row.request ?? '') ?? []), row])
  // The entries of the oldest one may continue on the next page.
  const whole = [...requests].slice(0, next === null ? shownRequests : Math.min(shownRequests, requests.size - 1))
  return whole.map(([request, entries]) => {
    const chargedMicroUsd = entries.reduce((sum, { amountUsd }) => sum - (parseUsd(amountUsd) ?? 0n), 0n)
    const [{ atMs, model } = { atMs: 0, model: null }] = entries
    return `request: ${plain(request)}  ${timeOf(atMs)}  ${plain(model)}  ${displayUsd(chargedMicroUsd)}`
  })
}

function sayCustomer(page: OperatorAnswer<'customer'>): string[] {
  const { customer, totals, byModel, wallets, keys, limits, from, to } = page
  const { suspendedAtMs, suspendedReason, plan } = customer
  const since = suspendedAtMs === null ? '' : ` since ${timeOf(suspendedAtMs)} UTC: ${shown(suspendedReason)}`
  const facts = [
    ['customer', plain(customer.customer)],
    ['name', shown(customer.name)],
    ['e-mail', shown(customer.email)],
    ['note', shown(customer.note)],
    ['state', `${customer.state}${since}`],
    ['plan', plan ?? 'as configured'],
    ['balance', `${money(customer.balanceUsd)}, of which ${money(customer.heldUsd)} is on hold`],
    ['wallets', plain(wallets.join(', '))],
    [
      `${from} to ${to}`,
      `${counted(totals.requests, 'request')}, ${money(totals.chargedUsd)} charged, ${money(totals.refundedUsd)} refunded`,
    ],
    ...byModel.map(row => [
      `  ${plain(row.model)}`,
      `${counted(row.requests, 'request')}, ${money(row.chargedUsd)} charged`,
    ]),
    ...keys.map(key => ['key', `${key.key}  ${key.prefix}…  ${key.state}  ${shown(key.label)}`]),
    ...limits.map(hit => [
      'limit',
      `${hit.type} of ${plain(hit.model)} was hit ${hit.hits} times, last ${timeOf(hit.lastAtMs)}`,
    ]),
  ]
  return facts.filter(([, value]) => value !== '').map(([fact, value]) => `${fact}: ${value}`)
}

/** An empty text removes the old one. */
const cleared = (value: string | undefined): string | null | undefined => (value === '' ? null : value)

async function create(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { email: text, note: text, plan: text, reason: text, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const { email, note, reason } = values
  const plan = values.plan === undefined ? undefined : choice('plan', values.plan, planNames)
  const order = { name: required('The name', positionals[0]), ...given({ email, note, plan, reason }) }
  const answer = await operate('customer.create', order, values, io)
  return printed(values, io, answer, `Created customer ${answer.customer}.`)
}

async function rename(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { email: text, note: text, reason: text, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 2 })
  const { reason } = values
  const changed = given({ name: positionals[1], email: cleared(values.email), note: cleared(values.note) })
  const customer = required('The customer', positionals[0])
  const answer = await operate('customer.change', { customer, ...changed, ...given({ reason }) }, values, io)
  return printed(values, io, answer, `Changed customer ${answer.customer}.`)
}

async function credit(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { usd: text, reason: text, id: text, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const customer = required('The customer', positionals[0])
  const [usd, reason] = [required('`--usd`', values.usd), required('`--reason`', values.reason)]
  const id = values.id ?? randomUUID()
  const answer = await operate('customer.credit', { customer, usd, reason, id }, values, io).catch(error => {
    throw error instanceof AnswerLost
      ? new CliError(error.message, `Repeat it with \`--id ${id}\`; the credit is given only once.`)
      : error
  })
  const balance = `the balance is ${money(answer.balanceUsd)} (id ${answer.id}).`
  if (answer.isRepeated) return printed(values, io, answer, `${answer.customer} already has this credit; ${balance}`)
  return printed(values, io, answer, `Credited ${money(usd)} to ${answer.customer}; ${balance}`)
}

async function refund(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { reason: text, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const order = {
    request: required('The id of the request', positionals[0]),
    reason: required('`--reason`', values.reason),
  }
  const answer = await operate('customer.refund', order, values, io)
  return printed(values, io, answer, `Refunded ${money(answer.refundedUsd)} to ${answer.customer}.`)
}

async function suspend(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { reason: text, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const order = { customer: required('The customer', positionals[0]), reason: required('`--reason`', values.reason) }
  const answer = await operate('customer.suspend', order, values, io)
  const sentence = `Suspended ${answer.customer}. Running calls end within seconds, and new ones are refused.`
  return printed(values, io, answer, sentence)
}

async function resume(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { reason: text, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const order = { customer: required('The customer', positionals[0]), ...given({ reason: values.reason }) }
  const answer = await operate('customer.resume', order, values, io)
  return printed(values, io, answer, `Resumed ${answer.customer}.`)
}

const configured = 'configured'

async function limit(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { plan: text, reason: text, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const customer = required('The customer', positionals[0])
  const chosen = choice('plan', required('`--plan`', values.plan), [...planNames, configured])
  const order = { customer, plan: chosen === configured ? null : chosen, ...given({ reason: values.reason }) }
  const answer = await operate('customer.limit', order, values, io)
  const limits = chosen === configured ? 'the plan of the configuration' : `the plan \`${chosen}\``
  return printed(values, io, answer, `${answer.customer} now has the limits of ${limits}.`)
}

async function log(args: readonly string[], io: CommandIo): Promise<number> {
  const options = { ...paging, ...place }
  const { values, positionals } = parseArguments(args, { command: name, options, maxPositionals: 1 })
  const [customer] = positionals
  const answer = await operate('acts', { ...pageOf(name, values), ...given({ customer }) }, values, io)
  if (values.json) io.output.printJson(answer)
  else {
    const head = ['Time, UTC', 'Who', 'What', 'Of', 'Change', 'Why']
    printTable({ head, rows: answer.rows.map(actCells) }, io.output)
    notePage(answer, io)
  }
  return 0
}

const actCells = ({ atMs, actor, act, name: of, customer, subject, before, after, reason }: ActView): string[] => [
  ...[timeOf(atMs), shown(actor), plain(act)],
  [of === null ? plain(customer) : shown(of), plain(subject)].filter(Boolean).join(' '),
  [before, after]
    .map(value => (value === null ? '' : asJson(value)))
    .filter(Boolean)
    .join(' → '),
  shown(reason),
]
