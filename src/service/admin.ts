import { timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { authenticationFailed, forbidden, invalidRequest } from '#contract/errors.ts'
import { describeIssues } from '#contract/issues.ts'
import { jsonDepth } from '#contract/limits.ts'
import { parseUsd } from '#contract/money.ts'
import { parseJson } from '#contract/safe-json.ts'
import { createKey, type KeyOrder, mostGrantUsd } from './create-key.ts'
import type { Exchange } from './exchange.ts'
import type { ApiKeys } from './identity/api-keys.ts'
import { sendJson } from './middleware/send.ts'
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

const KeyRequest = z.strictObject({
  usd: z.string().refine(isGrant, `an amount of USD such as 5 or 0.25, at most ${mostGrantUsd}`),
  label: z.string().max(100),
})

export const adminKeysPath = '/admin/v1/keys'

/** One command of the operator. Throws `ServiceError`s; wrong tokens count towards the block of their address. */
export async function answerAdmin(exchange: Exchange, request: Request, admin: Admin): Promise<Response> {
  if (!isLoopback(exchange.address)) throw forbidden()
  if (!isAuthorized(request, admin.token)) throw authenticationFailed()
  return sendJson(exchange, 200, await createKey(admin, await readOrder(request)))
}

const isLoopback = (address: string): boolean => address === '::1' || /^(::ffff:)?127\./.test(address)

function isAuthorized(request: Request, token: string): boolean {
  const given = Buffer.from(request.headers.get('authorization') ?? '')
  const expected = Buffer.from(`Bearer ${token}`)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

async function readOrder(request: Request): Promise<KeyOrder> {
  const text = await request.text()
  const parsed = text.length > adminBytes ? null : parseJson(text, jsonDepth)
  if (!parsed?.ok) throw invalidRequest({ error: 'The body is not the JSON of this command.' })
  const order = KeyRequest.safeParse(parsed.value)
  if (!order.success) throw invalidRequest(describeIssues(order.error))
  return { amountMicroUsd: parseUsd(order.data.usd) ?? 0n, label: order.data.label }
}
