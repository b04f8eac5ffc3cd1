import { parseUsd } from '#contract/money.ts'
import { hourMs } from '#contract/time.ts'
import { hashOfSecret } from '#host/pages/page-guards.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { grantRef } from '../queries/customer-acts.ts'
import type { Asked, ProofNeed, RouteContext } from './console-route.ts'

/**
 * The most that an operator may credit in an hour without a recent proof. It limits what a stolen session can give
 * away.
 */
export const unprovenCreditMicroUsd = 100_000_000n

/** The number of the last hour's actions that are read. With more of them, a proof is required whatever their sum. */
const lookedAt = 500

/**
 * Whether this credit, added to the operator's credits of the last hour, exceeds the limit. The fence is named after the
 * newest of them, which is read first: a credit that is committed later is in the history, or makes the fence fail.
 */
export async function isMuchCredit(
  { body, session }: Pick<Asked, 'body' | 'session'>,
  { store, clock }: Pick<RouteContext, 'store' | 'clock'>,
): Promise<ProofNeed> {
  const { usd, id } = body as { usd?: unknown; id?: unknown }
  const now = typeof usd === 'string' ? parseUsd(usd) : null
  // The action itself refuses an invalid amount.
  if (now === null) return { isNeeded: false }
  // A repeat credits nothing, so it needs no proof to return the first result.
  if (typeof id === 'string' && (await isCredited(store, id))) return { isNeeded: false }
  if (now > unprovenCreditMicroUsd) return { isNeeded: true }
  const actor = `console: ${session.by}`
  const credits = store.read
    .selectFrom('operator_act')
    .where('act', '=', 'customer.credit')
    .where('actor', '=', actor)
    .orderBy('seq', 'desc')
  const newest = await credits.select('seq').limit(1).executeTakeFirst()
  const sinceMs = clock.now() - hourMs
  const rows = await credits.select('after_change').where('at_ms', '>', sinceMs).limit(lookedAt).execute()
  const before = rows.reduce((sum, row) => sum + creditedOf(row.after_change), 0n)
  if (rows.length >= lookedAt || before + now > unprovenCreditMicroUsd) return { isNeeded: true }
  const key = `console-credit:${hashOfSecret(actor)}:${newest?.seq ?? 0}`
  const fence: Op = { op: 'nonce', key, expiresAtMs: clock.now() + hourMs }
  return { isNeeded: false, fence }
}

const isCredited = async ({ read }: Pick<Store, 'read'>, id: string): Promise<boolean> =>
  (await read.selectFrom('entry').select('seq').where('ref', '=', grantRef(id)).limit(1).execute()).length > 0

const creditedOf = (after: string | null): bigint => {
  const { usd } = JSON.parse(after ?? '{}') as { usd?: string }
  return parseUsd(usd ?? '0') ?? 0n
}
