import { parseUsd } from '#contract/money.ts'
import { hourMs } from '#contract/time.ts'
import type { Asked, RouteContext } from './console-route.ts'

/**
 * The most that an operator may credit in an hour without a recent proof. It limits what a stolen session can give
 * away.
 */
export const unprovenCreditMicroUsd = 100_000_000n

/** The number of the last hour's actions that are read. With more of them, a proof is required whatever their sum. */
const lookedAt = 500

/** Whether this credit, added to the operator's credits of the last hour, exceeds the limit. */
export async function isMuchCredit(
  { body, session }: Pick<Asked, 'body' | 'session'>,
  { store, clock }: Pick<RouteContext, 'store' | 'clock'>,
): Promise<boolean> {
  const { usd } = body as { usd?: unknown }
  const now = typeof usd === 'string' ? parseUsd(usd) : null
  // The action itself refuses an invalid amount.
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
