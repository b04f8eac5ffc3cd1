import { formatUsd } from '#contract/money.ts'
import type { EntryView } from '#pages/console/answers.ts'
import { entries } from './entries.ts'
import { jobs } from './jobs.ts'
import type { OperatorContext } from './operator-context.ts'
import { mostRows, type OperatorAnswer, type OperatorOrder } from './wire.ts'

/** Everything in the ledger about one request: its charges, refunds and holds, and its job. */
export async function request(
  context: OperatorContext,
  { request: id }: OperatorOrder<'request'>,
): Promise<OperatorAnswer<'request'>> {
  const { read } = context.store
  const [{ rows }, found, hold] = await Promise.all([
    entries(context, { request: id, limit: mostRows }),
    jobs(context, { request: id, limit: 1 }),
    read.selectFrom('hold').select(['account', 'amount', 'created_at_ms']).where('id', '=', id).executeTakeFirst(),
  ])
  const [job = null] = found.rows
  const account = rows[0]?.customer ?? job?.customer ?? hold?.account ?? null
  const customer =
    account === null
      ? null
      : await read.selectFrom('customer').select('name').where('account', '=', account).executeTakeFirst()
  return {
    request: id,
    customer: account,
    name: customer?.name ?? null,
    model: rows.find(({ model }) => model !== null)?.model ?? job?.model ?? null,
    chargedUsd: formatUsd(-sumOf(rows, 'CHARGE')),
    refundedUsd: formatUsd(sumOf(rows, 'REFUND')),
    writtenOffUsd: formatUsd(sumOf(rows, 'WRITE_OFF')),
    isRefunded: rows.some(({ kind }) => kind === 'REFUND'),
    hold: hold ? { heldUsd: formatUsd(hold.amount), sinceMs: hold.created_at_ms } : null,
    // In the order in which they were written: a charge's lines stay in order.
    entries: rows.toReversed(),
    job,
  }
}

const sumOf = (rows: readonly EntryView[], wanted: EntryView['kind']): bigint =>
  rows.reduce((sum, { kind, amountUsd }) => (kind === wanted ? sum + BigInt(amountUsd.replace('.', '')) : sum), 0n)
