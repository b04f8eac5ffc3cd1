import { parseUsd } from '#contract/money.ts'
import { hourMs } from '#contract/time.ts'
import type { Asked, RouteContext } from './console-route.ts'

/** What one operator may credit in an hour without a recent proof: a session that was taken over gives away no more. */
export const unprovenCreditMicroUsd = 100_000_000n

/** Acts of the last hour that are looked at; more of them need a proof whatever they sum up to. */
const lookedAt = 500

/** Whether this credit, with what the operator credited in the last hour, is above the bound. */
export async function isMuchCredit(
  { body, session }: Pick<Asked, 'body' | 'session'>,
  { store, clock }: Pick<RouteContext, 'store' | 'clock'>,
): Promise<boolean> {
  const { usd } = body as { usd?: unknown }
  const now = typeof usd === 'string' ? parseUsd(usd) : null
  // What is no amount is refused by the act itself.
  if (now === null) return false
  if (now > unprovenCreditMicroUsd) return true
  const rows = await store.read
    .selectFrom('operator_act')
    .select(['after_change'])
    .where('act', '=', 'customer.credit')
    .where('actor', '=', `console: ${session.by}`)
    .where('at_ms', '>', clock.now() - hourMs)
    .orderBy('seq', 'desc')
    .limit(lookedAt)
    .execute()
  const before = rows.reduce((sum, row) => sum + creditedOf(row.after_change), 0n)
  return rows.length >= lookedAt || before + now > unprovenCreditMicroUsd
}

const creditedOf = (after: string | null): bigint => {
  const { usd } = JSON.parse(after ?? '{}') as { usd?: string }
  return parseUsd(usd ?? '0') ?? 0n
}
