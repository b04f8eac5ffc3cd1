import type { KeyNeeds } from '#access/keys/api-keys.ts'
import type { ListedKey } from '#access/keys/shown-key.ts'
import { parseUsd } from '#contract/money.ts'
import { budgetOf, budgetOptions, openOperator } from '../admin/operator.ts'
import { dropSecrets, rotateSecret } from '../admin/secrets.ts'
import { type Command, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { defaultDataFolder } from '../data/data-folder.ts'
import { ledgerPlaceOf } from '../data/ledger-place.ts'

const name = 'farebox keys'

const usage = `Usage: farebox keys create --usd N [--label TEXT] [--account ID] [--admin] [LIMITS] [--data DIR] [--json]
       farebox keys budget ID LIMITS | --none [--data DIR]
       farebox keys list [--account ID] [--data DIR] [--json]
       farebox keys revoke ID [--data DIR]
       farebox keys rotate-secret [--break-keys] [--data DIR]
       farebox keys drop-secrets [--break-keys] [--data DIR]

create makes an API key for a new customer with N USD of credit, and prints it once. budget limits what one key may spend.
list shows ids, accounts and how each key begins. revoke ends a key at once. rotate-secret gives the service a new secret
for keys and download links; the former one is accepted until drop-secrets. Stop the service before both.

  --usd N       initial credit, for example 5 or 0.25; 0 for none
  --label TEXT  what the key is for, shown in lists
  --account ID  create another key of this customer, or list only this customer's keys
  --admin       a key that manages its customer's keys over the API and reads the customer's bills
  --break-keys  drop former secrets although keys need them, or replace a lost secret: those keys stop working
  --data DIR    the service's folder (${defaultDataFolder}); the ledger is in PostgreSQL if DATABASE_URL is set
  --json        JSON

LIMITS are what a key may spend in each period; other keys of the customer are not counted:

  --period epoch|month|lifetime  a UTC day, a UTC month, or the key's lifetime
  --budget-usd N                 in USD
  --budget-staking N             in staking credit
  --none                         remove the limit`

const words: Readonly<Record<string, (args: readonly string[], io: CommandIo) => Promise<number>>> = {
  create,
  budget,
  list,
  revoke,
  'rotate-secret': rotate,
  'drop-secrets': drop,
}

export const keys: Command = {
  usage,
  async run(args, io) {
    const [word = '', ...rest] = args
    if (Object.hasOwn(words, word) && words[word]) return words[word](rest, io)
    const known = Object.keys(words)
      .map(each => `\`${each}\``)
      .join(', ')
    throw wrongUsage(name, word === '' ? `Choose what to do: ${known}` : `\`${word}\` is not known; there is ${known}`)
  },
}

const data = { type: 'string', default: defaultDataFolder } as const

async function create(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: {
      usd: { type: 'string' },
      label: { type: 'string', default: '' },
      account: { type: 'string' },
      admin: { type: 'boolean', default: false },
      ...budgetOptions,
      data,
      json: { type: 'boolean', default: false },
    },
  })
  const limits = budgetOf(values, name)
  const usd = values.usd ?? (values.account === undefined ? undefined : '0')
  if (usd === undefined) throw wrongUsage(name, '`--usd` is missing')
  const amountMicroUsd = parseUsd(usd)
  if (amountMicroUsd === null || amountMicroUsd < 0n)
    throw wrongUsage(name, '`--usd` takes an amount such as 5 or 0.25, or 0')
  const operator = await openOperator(await ledgerPlaceOf(values.data, io.env))
  try {
    const more = {
      ...(values.account === undefined ? {} : { account: values.account }),
      ...(limits ? { budget: limits } : {}),
      ...(values.admin ? { role: 'ADMIN' as const } : {}),
    }
    const created = await operator.createKey({ usd, amountMicroUsd, label: values.label, ...more })
    if (values.json) io.output.printJson(created)
    else io.output.print(created.key)
    return 0
  } finally {
    await operator.close()
  }
}

async function budget(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: name,
    options: { ...budgetOptions, none: { type: 'boolean', default: false }, data },
    maxPositionals: 1,
  })
  const [id] = positionals
  if (id === undefined) throw wrongUsage(name, 'The id of the key is missing; `farebox keys list` shows it')
  const limits = budgetOf(values, name)
  if ((limits === null) !== values.none) throw wrongUsage(name, 'Give the limits, or `--none`')
  const operator = await openOperator(await ledgerPlaceOf(values.data, io.env))
  try {
    await operator.setBudget(id, limits)
    io.output.print(limits ? `Key ${id} now has these limits.` : `Key ${id} has no limit.`)
    return 0
  } finally {
    await operator.close()
  }
}

async function list(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { account: { type: 'string' }, data, json: { type: 'boolean', default: false } },
  })
  const operator = await openOperator(await ledgerPlaceOf(values.data, io.env))
  try {
    const listed = await operator.listKeys(values.account)
    if (values.json) io.output.printJson(listed)
    else for (const line of sayKeys(listed, Date.now())) io.output.print(line)
    return 0
  } finally {
    await operator.close()
  }
}

async function revoke(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, { command: name, options: { data }, maxPositionals: 1 })
  const [id] = positionals
  if (id === undefined) throw wrongUsage(name, 'The id of the key is missing; `farebox keys list` shows it')
  const operator = await openOperator(await ledgerPlaceOf(values.data, io.env))
  try {
    await operator.revokeKey(id)
    io.output.print(`Key ${id} was revoked.`)
    return 0
  } finally {
    await operator.close()
  }
}

async function rotate(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { 'break-keys': { type: 'boolean', default: false }, data },
  })
  io.output.print(await rotateSecret(await ledgerPlaceOf(values.data, io.env), values['break-keys']))
  return 0
}

async function drop(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { 'break-keys': { type: 'boolean', default: false }, data },
  })
  io.output.print(await dropSecrets(await ledgerPlaceOf(values.data, io.env), values['break-keys']))
  return 0
}

/** What a list says of the secret that a key needs; nothing where all is as it should be. */
const needs: Readonly<Record<KeyNeeds, string>> = {
  current: '',
  former: 'needs a former secret',
  missing: 'needs a secret that is missing here',
  unmarked: 'made by the first release, perhaps under a former secret',
}

/** One line a key, newest first, for the user. */
export function sayKeys(keys: readonly ListedKey[], nowMs: number): string[] {
  if (keys.length === 0) return ['There are no keys.']
  return keys.map(key =>
    [
      key.id,
      `${key.prefix}…`,
      key.account,
      `made ${dayOf(key.createdAtMs)}`,
      key.role === 'ADMIN' ? 'ADMIN' : '',
      stateOf(key, nowMs),
      needs[key.needs],
      limitsOf(key),
      JSON.stringify(key.label),
    ]
      .filter(part => part !== '')
      .join('  '),
  )
}

function stateOf({ revokedAtMs, expiresAtMs }: ListedKey, nowMs: number): string {
  if (revokedAtMs !== null) return `revoked ${dayOf(revokedAtMs)}`
  if (expiresAtMs === null) return 'active'
  return `${expiresAtMs <= nowMs ? 'expired' : 'active until'} ${dayOf(expiresAtMs)}`
}

const periods = { epoch: 'a day', month: 'a month', lifetime: 'in all' } as const

function limitsOf({ budget }: ListedKey): string {
  if (!budget) return ''
  const { usd, staking, period } = budget
  const limits = [usd === null ? '' : `${usd} USD`, staking === null ? '' : `${staking} of staking credit`]
  return `at most ${limits.filter(Boolean).join(' and ')} ${periods[period]}`
}

const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)
