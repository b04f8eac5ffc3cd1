import { sql } from 'kysely'
import { dayMs } from '#contract/time.ts'
import type { Store } from '#ledger/store/store.ts'
import { refuse } from '../operator-refused.ts'
import { commitAct } from './acts.ts'
import type { OperatorContext } from './operator-context.ts'
import type { OperatorAnswer, OperatorOrder } from './wire.ts'

/** Limits that callers hit, and callers that are blocked after too many failed requests. */

/** The number of rows that are shown. */
const shownHits = 200

interface HitRow {
  account: string
  name: string | null
  type: string
  model: string
  tier: string
  hits: number
  last_ms: number
}

export async function hitsOf(
  { read }: Pick<Store, 'read'>,
  { sinceMs, customer }: { sinceMs: number; customer?: string },
): Promise<OperatorAnswer<'limits'>['hits']> {
  const one = customer === undefined ? sql`` : sql` AND l.account = ${customer}`
  const { rows } = await sql<HitRow>`SELECT l.account, min(c.name) AS name, l.type, l.model, l.tier,
      CAST(count(*) AS bigint) AS hits, max(l.created_at_ms) AS last_ms
    FROM limit_log l LEFT JOIN customer c ON c.account = l.account
    WHERE l.created_at_ms >= ${sinceMs}${one} GROUP BY l.account, l.type, l.model, l.tier
    ORDER BY hits DESC, last_ms DESC LIMIT ${shownHits}`.execute(read)
  return rows.map(({ account, hits, last_ms, ...row }) => ({ customer: account, ...row, hits, lastAtMs: last_ms }))
}

export async function limits(context: OperatorContext): Promise<OperatorAnswer<'limits'>> {
  const hits = await hitsOf(context.store, { sinceMs: context.clock.now() - dayMs })
  return { hits, blocks: (await context.blocks?.blocked()) ?? [] }
}

/** Lifts a caller's block. The log's row is written first, so that no action is missing from the log. */
export async function unblock(
  context: OperatorContext,
  { subject, reason }: OperatorOrder<'limit.unblock'>,
  actor: string,
): Promise<OperatorAnswer<'limit.unblock'>> {
  const block = (await context.blocks?.blocked())?.find(each => each.subject === subject)
  if (!context.blocks || !block) throw refuse('This caller is not blocked here.')
  await commitAct(context, { actor, act: 'limit.unblock', subject, reason, before: { untilMs: block.untilMs } }, [])
  await context.blocks.lift(subject)
  return { subject }
}
