import { timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { authenticationFailed, forbidden, invalidRequest } from '#contract/errors.ts'
import { describeIssues } from '#contract/issues.ts'
import { jsonDepth } from '#contract/limits.ts'
import { parseUsd } from '#contract/money.ts'
import { parseJson } from '#contract/safe-json.ts'
import { createKey, mostGrantUsd } from './create-key.ts'
import type { Exchange } from './exchange.ts'
import { type ApiKeys, KeyRefused } from './identity/api-keys.ts'
import { listedKey, refusalSentence } from './listed-key.ts'
import { sendJson } from './middleware/send.ts'
import { nameCharacters } from './store/bounds.ts'
import type { Store } from './store/store.ts'

/**
 * What an operator's commands ask of a running service, because one process owns a SQLite folder.
 * Loopback only, with a token that lies beside the data, readable by its owner alone.
 */
export interface Admin {
  token: string
  store: Store
  keys: ApiKeys
  now: () => number
}

/** A body of the admin API; it comes from our own commands. */
const adminBytes = 16 * 1024

const isGrant = (text: string): boolean => {
  const amount = parseUsd(text)
  return amount !== null && amount >= 0n && amount <= BigInt(mostGrantUsd) * 1_000_000n
}

const name = z.string().min(1).max(nameCharacters)

/** What may be asked, by the end of its path. */
const commands = {
  keys: z.strictObject({
    usd: z.string().refine(isGrant, `an amount of USD such as 5 or 0.25, at most ${mostGrantUsd}`),
    label: z.string().max(100),
    account: name.optional(),
  }),
  'keys/list': z.strictObject({ account: name.optional() }),
  'keys/revoke': z.strictObject({ key: name }),
} as const

type CommandName = keyof typeof commands
type Body<Name extends CommandName> = z.output<(typeof commands)[Name]>

const adminPath = '/admin/v1/'
export const adminPaths = Object.keys(commands).map(command => `${adminPath}${command}`)

/** One command of the operator. Throws `ServiceError`s; wrong tokens count towards the block of their address. */
export async function answerAdmin(exchange: Exchange, request: Request, admin: Admin): Promise<Response> {
  if (!isLoopback(exchange.address)) throw forbidden()
  if (!isAuthorized(request, admin.token)) throw authenticationFailed()
  const command = new URL(request.url).pathname.slice(adminPath.length) as CommandName
  try {
    return await sendJson(exchange, 200, await run(command, await request.text(), admin))
  } catch (error) {
    if (error instanceof KeyRefused) throw invalidRequest({ error: refusalSentence(error) })
    throw error
  }
}

function run(command: CommandName, body: string, admin: Admin): Promise<unknown> {
  switch (command) {
    case 'keys': {
      const { usd, label, account } = read(command, body)
      const order = { amountMicroUsd: parseUsd(usd) ?? 0n, label, ...(account === undefined ? {} : { account }) }
      return createKey(admin, order)
    }
    case 'keys/list':
      return admin.keys.list(read(command, body).account).then(keys => keys.map(listedKey))
    case 'keys/revoke':
      return admin.keys.revoke(read(command, body).key).then(() => ({ revoked: true }))
  }
}

function read<Name extends CommandName>(command: Name, text: string): Body<Name> {
  const parsed = text.length > adminBytes ? null : parseJson(text, jsonDepth)
  if (!parsed?.ok) throw invalidRequest({ error: 'The body is not the JSON of this command.' })
  const body = commands[command].safeParse(parsed.value)
  if (!body.success) throw invalidRequest(describeIssues(body.error))
  return body.data as Body<Name>
}

const isLoopback = (address: string): boolean => address === '::1' || /^(::ffff:)?127\./.test(address)

function isAuthorized(request: Request, token: string): boolean {
  const given = Buffer.from(request.headers.get('authorization') ?? '')
  const expected = Buffer.from(`Bearer ${token}`)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
