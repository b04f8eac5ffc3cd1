import { sql } from 'kysely'
import { formatUsd } from '#contract/money.ts'
import type { PaymentState } from '#ledger/store/units.ts'
import { refuse } from '../operator-refused.ts'
import { commitAct } from './acts.ts'
import type { OperatorContext, PaymentFound } from './operator-context.ts'
import { stuckAfterMs } from './sums.ts'
import type { OperatorAnswer, OperatorOrder } from './wire.ts'

/** Top-ups by the stage that they have reached, and what an operator can do about one that is stuck. */

const advice: Readonly<Record<PaymentState, string>> = {
  claimed: 'Accepted, but not yet sent to the chain. A running service continues it; if none is running, start one.',
  settling: 'Sent to the chain, but not yet confirmed. The service checks again automatically.',
  unknown: 'It is not yet known whether it arrived. The service keeps checking the chain.',
  credited: 'Arrived, and credited.',
  rejected: 'Refused before anything was sent; nothing was taken from the payer.',
  expired: 'Expired: it can no longer arrive, and nothing was taken from the payer.',
}

const open: readonly PaymentState[] = ['claimed', 'settling', 'unknown']

interface StuckRow {
  state: PaymentState
  transaction_id: string | null
  valid_before_seconds: number | null
}

/** What to do about a payment that has been pending for more than an hour, in this order. */
function stepsFor({ state, transaction_id, valid_before_seconds }: StuckRow, nowMs: number): string[] {
  const isOver = valid_before_seconds !== null && valid_before_seconds * 1_000 < nowMs
  return [
    'Check again now. If it arrived, it is credited; if not, it is sent again as long as its signature is valid.',
    ...(isOver
      ? [
          `Its signature was valid until ${new Date(valid_before_seconds * 1_000).toISOString().slice(0, 16).replace('T', ' ')} UTC, so it can no longer be sent. It stays pending only until the node answers: check that with \`farebox doctor\`.`,
        ]
      : state === 'claimed'
        ? ['If it stays pending, run `farebox doctor`: it shows what keeps the service from sending payments.']
        : ['If it stays pending, check that the node answers and is up to date: `farebox doctor`.']),
    ...(transaction_id === null ? [] : ['Look up its transaction on the chain.']),
    'Don’t credit the customer by hand: the payment would be credited a second time when it arrives.',
    'Run `farebox ledger audit --chain`, which lists money that arrived without a credit.',
  ]
}

export async function payments(
  { store: { read }, clock }: OperatorContext,
  { stage, payer, transaction, limit, after }: OperatorOrder<'payments'>,
): Promise<OperatorAnswer<'payments'>> {
  const beforeMs = clock.now() - stuckAfterMs
  let rows = read.selectFrom('payment').leftJoin('wallet', 'wallet.id', 'payment.payer')
  if (stage === 'stuck') rows = rows.where('state', 'in', open).where('payment.created_at_ms', '<', beforeMs)
  else if (stage !== undefined) rows = rows.where('state', '=', stage)
  if (payer !== undefined) rows = rows.where('payer', 'in', [payer, payer.toLowerCase()])
  if (transaction !== undefined) rows = rows.where('transaction_id', '=', transaction)
  const { n } = await rows.select(sql<number>`CAST(count(*) AS bigint)`.as('n')).executeTakeFirstOrThrow()
  if (after !== undefined) {
    const [atMs, id] = timedPlace(after)
    rows = rows.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('payment.created_at_ms', 'payment.id'), '<', tuple(atMs, id)),
    )
  }
  const found = await rows
    .select(['payment.id', 'state', 'network', 'payer', 'wallet.account', 'amount', 'transaction_id'])
    .select(['payment.created_at_ms', 'updated_at_ms', 'valid_before_seconds'])
    .orderBy('payment.created_at_ms', 'desc')
    .orderBy('payment.id', 'desc')
    .limit(limit + 1)
    .execute()
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return {
    rows: shown.map(row => {
      const isOpen = open.includes(row.state)
      const isStuck = isOpen && row.created_at_ms < beforeMs
      return {
        ...{ payment: row.id, stage: row.state, isOpen, isStuck, advice: advice[row.state] },
        steps: isStuck ? stepsFor(row, clock.now()) : [],
        ...{ network: row.network, payer: row.payer, customer: row.account, transaction: row.transaction_id },
        amountUsd: row.amount === null ? null : formatUsd(row.amount),
        ...{ createdAtMs: row.created_at_ms, updatedAtMs: row.updated_at_ms },
      }
    }),
    total: n,
    next: last && found.length > limit ? `${last.created_at_ms} ${last.id}` : null,
  }
}

function timedPlace(after: string): [atMs: number, id: string] {
  const [, atMs, id] = /^(\d{1,15}) (.+)$/.exec(after) ?? []
  if (atMs === undefined || id === undefined) throw refuse('`after` is not a `next` value of this list.')
  return [Number(atMs), id]
}

/** The result of a check, and what to do. The stage shows how an ended payment ended. */
const outcomes: Readonly<Record<Exclude<PaymentFound, 'ended'>, string>> = {
  driven: 'The service is checking it right now. Check again in half a minute.',
  busy: 'Other payments are being checked right now. Check again in half a minute.',
  unreadable:
    'This release cannot read the stored payment, and leaves it as it is. Start the release that wrote it, which finishes it. Don’t credit it by hand.',
  not_configured:
    'Payments on its network are no longer configured, so the service cannot check it. Configure that network again until the payment has ended. Don’t credit it by hand.',
  unreachable:
    'The chain does not answer, so nothing is known about the payment. Check the node with `farebox doctor`. The service tries again automatically.',
  unconfirmed:
    'The chain shows it, but with too few confirmations so far. The service credits it when there are enough.',
  open: 'The chain does not show it. The service tries again automatically until the payment arrives or expires.',
}

/**
 * Has the service check a payment now. This is the same work that the service does regularly: it credits only what
 * the chain shows, so no payment is credited twice. The log's row is written first, so that no action is missing from
 * the log.
 */
export async function lookAtPayment(
  context: OperatorContext,
  { payment, reason }: OperatorOrder<'payment.check'>,
  actor: string,
): Promise<OperatorAnswer<'payment.check'>> {
  const lookAgain = context.payments?.lookAgain?.bind(context.payments)
  if (!lookAgain) throw refuse('This process accepts no payments. Check it in the console of a service that does.')
  const { state, account } = await stored(context, payment)
  if (!open.includes(state)) throw refuse(`This payment has ended. ${advice[state]}`)
  const act = { actor, act: 'payment.check' as const, account, subject: payment, reason: reason ?? null }
  await commitAct(context, { ...act, before: { stage: state } }, [])
  const look = await lookAgain(payment)
  const stage = (await stored(context, payment)).state
  const found = look?.found ?? 'ended'
  const outcome = found === 'ended' ? advice[stage] : outcomes[found]
  return { payment, stage, outcome: look?.problem ? `${outcome} ${look.problem}` : outcome }
}

async function stored({ store: { read } }: OperatorContext, payment: string) {
  const row = await read
    .selectFrom('payment')
    .leftJoin('wallet', 'wallet.id', 'payment.payer')
    .select(['state', 'wallet.account'])
    .where('payment.id', '=', payment)
    .executeTakeFirst()
  if (!row) throw refuse('There is no such payment.')
  return row
}
