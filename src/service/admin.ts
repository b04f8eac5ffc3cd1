import { timingSafeEqual } from 'node:crypto'
import type { Hono } from 'hono'
import { z } from 'zod'
import { authenticationFailed, forbidden, invalidRequest } from '#contract/errors.ts'
import { describeIssues } from '#contract/issues.ts'
import { jsonDepth } from '#contract/limits.ts'
import { parseUsd } from '#contract/money.ts'
import { parseJson } from '#contract/safe-json.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { ServiceEnvironment } from './app.ts'
import { createKey, type KeyOrder } from './create-key.ts'
import type { ApiKeys } from './identity/api-keys.ts'
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

const KeyRequest = z.strictObject({
  usd: z.string().refine(text => (parseUsd(text) ?? -1n) >= 0n, 'an amount of USD such as 5 or 0.25'),
  label: z.string().max(100),
})

export const adminPath = '/admin/v1'

export function mountAdmin(app: Hono<ServiceEnvironment>, admin: Admin): void {
  app.post(`${adminPath}/keys`, async context => {
    try {
      if (!isLoopback(context.env?.incoming?.socket.remoteAddress)) throw forbidden()
      if (!isAuthorized(context.req.raw, admin.token)) throw authenticationFailed()
      const order = await readOrder(context.req.raw)
      return context.json(await createKey(admin, order))
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      return Response.json(error.body, { status: error.status })
    }
  })
}

/** Absent where the application is met in process. */
const isLoopback = (address: string | undefined): boolean =>
  address === undefined || address === '::1' || /^(::ffff:)?127\./.test(address)

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
