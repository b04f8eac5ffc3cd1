import type { KeyNeeds } from '#access/keys/api-keys.ts'
import type { ListedKey } from '#access/keys/shown-key.ts'
import { parseUsd } from '#contract/money.ts'
import { dayOfText, textOfDay } from '#contract/time.ts'
import { budgetOf, budgetOptions, type Operator, openOperator } from '../admin/operator.ts'
import { money, place, printed } from '../admin/operator-command.ts'
import { dropSecrets, rotateSecret } from '../admin/secrets.ts'
import { byWord, CliError, type Command, type CommandIo, parseArguments, wrongUsage, wrongValue } from '../command.ts'
import { servicePlaceOf } from '../data/service-place.ts'
import { asJson, type Output } from '../output.ts'
import { paintFor } from '../show/style.ts'

const name = 'farebox keys'

const usage = `Usage: farebox keys create --usd N [--label TEXT] [--admin] [--expires DAY] [BUDGET] [--data DIR] [--json]
       farebox keys create --account CUSTOMER [--usd N] [--label TEXT] [--admin] [--expires DAY] [BUDGET] [--data DIR]
                           [--json]
       farebox keys budget ID BUDGET | --none [--data DIR] [--json]
       farebox keys list [--account CUSTOMER] [--data DIR] [--json]
       farebox keys revoke ID [--data DIR] [--json]
       farebox keys rotate-secret [--break-keys] [--data DIR] [--json]
       farebox keys drop-secrets [--break-keys] [--data DIR] [--json]

create         creates an API key for a new customer with N USD of credit, or another key for an existing customer, and
               prints it once
budget         limits what one key may spend
list           shows ids, accounts and how each key begins
revoke         ends a key within a second
rotate-secret  creates a new secret for keys and download links; the former secret still works. Stop the service first
drop-secrets   stops accepting former secrets. Stop the service first

CUSTOMER can be an id, a name, an e-mail, a wallet or a key id.

  --usd N             credit to give, for example 5 or 0.25; 0 for none
  --label TEXT        what the key is for, shown in lists
  --account CUSTOMER  create another key for this customer, or list only this customer's keys
  --admin             a key that manages its customer's keys over the API and reads the customer's bills
  --expires DAY       the key works until this UTC day begins, such as 2027-01-31 (never)
  --break-keys        drop former secrets that keys still need, or replace a lost secret; those keys stop working
  --data DIR          the service's folder (the one in ./farebox.yaml, or .farebox)
  --json              print JSON

BUDGET is what a key may spend in each period; other keys of the customer are not counted:

  --period epoch|month|lifetime  a UTC day, a UTC month, or the key's lifetime
  --budget-usd N                 in USD
  --budget-staking N             in staking credit
  --none                         remove the budget`

export const keys: Command = {
  usage,
  run: byWord(name, { create, budget, list, revoke, 'rotate-secret': rotate, 'drop-secrets': drop }),
}

/** Adds the given name to the error if the ledger does not know it. */
async function about<Value>(name: string | undefined, asked: Promise<Value>): Promise<Value> {
  return asked.catch(error => {
    if (name === undefined || !(error instanceof CliError)) throw error
    const named = error.message.replace(
      /^There is no such (key|account)\.$/,
      `There is no $1 \`${name.slice(0, 100)}\`.`,
    )
    throw new CliError(named, error.nextStep, error.exitCode)
  })
}

async function create(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: {
      usd: { type: 'string' },
      label: { type: 'string', default: '' },
      account: { type: 'string' },
      admin: { type: 'boolean', default: false },
      expires: { type: 'string' },
      ...budgetOptions,
      ...place,
    },
  })
  const limits = budgetOf(values, name)
  const expiresAtMs = endOf(values.expires)
  const usd = values.usd ?? (values.account === undefined ? undefined : '0')
  if (usd === undefined)
    throw wrongUsage(name, '`--usd` is missing: give the key’s credit, such as 5 or 0.25, or 0 for none')
  const amountMicroUsd = parseUsd(usd)
  const { mostGrantUsd } = await import('#access/keys/api-keys.ts')
  if (amountMicroUsd === null || amountMicroUsd < 0n || amountMicroUsd > BigInt(mostGrantUsd) * 1_000_000n)
    throw wrongValue(name, 'usd', usd, `an amount such as 5 or 0.25, at most ${mostGrantUsd}, or 0`)
  const operator = await openOperator(await servicePlaceOf(values.data, io.env))
  try {
    const account = await accountOf(operator, values.account)
    const more = {
      ...(account === undefined ? {} : { account }),
      ...(limits ? { budget: limits } : {}),
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
      ...(values.admin ? { role: 'ADMIN' as const } : {}),
    }
    const created = await about(account, operator.createKey({ usd, amountMicroUsd, label: values.label, ...more }))
    if (values.json) io.output.printJson(created)
    else {
      io.output.print(created.key)
      io.output.note('Store the key now: it is not shown again. Callers send it as `Authorization: Bearer KEY`.')
    }
    return 0
  } finally {
    await operator.close()
  }
}

function endOf(day: string | undefined): number | undefined {
  if (day === undefined) return undefined
  const atMs = dayOfText(day)
  if (atMs !== null && atMs > Date.now()) return atMs
  throw wrongValue(name, 'expires', day, 'a UTC day after today, such as 2027-01-31')
}

/** Returns the id of the customer that a text names. */
async function accountOf(operator: Operator, customer: string | undefined): Promise<string | undefined> {
  if (customer === undefined || /^(customer|wallet):/.test(customer)) return customer
  return (await operator.operate('customer', { customer })).customer.customer
}

async function budget(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: name,
    options: { ...budgetOptions, none: { type: 'boolean', default: false }, ...place },
    maxPositionals: 1,
  })
  const [id] = positionals
  if (id === undefined) throw wrongUsage(name, 'The id of the key is missing; `farebox keys list` shows it')
  const limits = budgetOf(values, name)
  if ((limits === null) !== values.none) throw wrongUsage(name, 'Give a budget, or `--none`')
  const operator = await openOperator(await servicePlaceOf(values.data, io.env))
  try {
    await about(id, operator.setBudget(id, limits))
    const sentence = limits ? `Key ${id} now has this budget.` : `Key ${id} has no budget.`
    return printed(values, io, { id }, sentence)
  } finally {
    await operator.close()
  }
}

async function list(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { account: { type: 'string' }, ...place },
  })
  const operator = await openOperator(await servicePlaceOf(values.data, io.env))
  try {
    const account = await accountOf(operator, values.account)
    const listed = await about(account, operator.listKeys(account))
    if (values.json) io.output.printJson(listed)
    else for (const line of await sayKeys(listed, Date.now(), io.output)) io.output.print(line)
    const { listedKeys } = await import('#access/keys/api-keys.ts')
    if (listed.length >= listedKeys)
      io.output.note(`Only the newest ${listedKeys} keys are listed. List a customer's own keys with \`--account\`.`)
    return 0
  } finally {
    await operator.close()
  }
}

async function revoke(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, { command: name, options: place, maxPositionals: 1 })
  const [id] = positionals
  if (id === undefined) throw wrongUsage(name, 'The id of the key is missing; `farebox keys list` shows it')
  const operator = await openOperator(await servicePlaceOf(values.data, io.env))
  try {
    await about(id, operator.revokeKey(id))
    return printed(values, io, { id }, `Key ${id} was revoked.`)
  } finally {
    await operator.close()
  }
}

async function rotate(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { 'break-keys': { type: 'boolean', default: false }, ...place },
  })
  const sentence = await rotateSecret(await servicePlaceOf(values.data, io.env), values['break-keys'])
  return printed(values, io, {}, sentence)
}

async function drop(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { 'break-keys': { type: 'boolean', default: false }, ...place },
  })
  const sentence = await dropSecrets(await servicePlaceOf(values.data, io.env), values['break-keys'])
  return printed(values, io, {}, sentence)
}

/** A note in the list about the secret that a key needs; empty if it is the current one. */
const needs: Readonly<Record<KeyNeeds, string>> = {
  current: '',
  former: 'needs a former secret',
  missing: 'needs a secret that is missing here',
}

/** One line for each key, newest first, for the user; on a terminal a table. */
async function sayKeys(keys: readonly ListedKey[], nowMs: number, output: Output): Promise<string[]> {
  if (keys.length === 0) return ['There are no keys.']
  const { tableLines } = await import('../show/table.ts')
  const head = ['Id', 'Key', 'Customer', 'Created', 'Role', 'State', 'Secret', 'Budget', 'Label']
  const paint = paintFor(output)
  const rows = keys.map(key => {
    const state = stateOf(key, nowMs)
    return [
      key.id,
      `${key.prefix}…`,
      key.account,
      output.isTerminal ? textOfDay(key.createdAtMs) : `created ${textOfDay(key.createdAtMs)}`,
      key.role === 'ADMIN' ? 'ADMIN' : '',
      paint(state.startsWith('active') ? 'good' : 'bad', state),
      paint('caution', needs[key.needs]),
      limitsOf(key),
      asJson(key.label),
    ]
  })
  return tableLines({ head, rows }, output)
}

function stateOf({ revokedAtMs, expiresAtMs }: ListedKey, nowMs: number): string {
  if (revokedAtMs !== null) return `revoked ${textOfDay(revokedAtMs)}`
  if (expiresAtMs === null) return 'active'
  return `${expiresAtMs <= nowMs ? 'expired' : 'active until'} ${textOfDay(expiresAtMs)}`
}

const periods = { epoch: 'a day', month: 'a month', lifetime: 'in all' } as const

function limitsOf({ budget }: ListedKey): string {
  if (!budget) return ''
  const { usd, staking, period } = budget
  const limits = [usd === null ? '' : money(usd), staking === null ? '' : `${money(staking)} of staking credit`]
  return `at most ${limits.filter(Boolean).join(' and ')} ${periods[period]}`
}
