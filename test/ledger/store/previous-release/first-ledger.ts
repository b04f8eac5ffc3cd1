/**
 * What the first release did to the ledger in `0001-first-tables.sql`. Never changed: every unit here is asked once more
 * of today's code, which must answer what the first release answered.
 */
import { microUsd } from '#contract/money.ts'
import type { Line, Op, PaymentState, Unit } from '#ledger/store/units.ts'

export const firstLedgerAtMs = 1_800_000_000_000

/** What that release hashed keys with and signed links with; worth nothing anywhere. */
export const firstSecret = 'secret of a test, never of a service'
/** A key that it gave out under that secret. */
export const firstKey = `fb_${'example-of-a-key-that-opens-nothing-anywhere-'.slice(0, 43)}`

let count = 0
/** One unit after the other has one id after the other: 2027-01-15, counted. */
const unit = (...ops: Op[]): Unit => ({
  id: `01a3185c-5000-7000-8000-${(++count).toString().padStart(12, '0')}`,
  ops,
})

const atMs = firstLedgerAtMs
const lease = (owner: string, untilMs: number) => ({ owner, untilMs })

const open = (account: string, kind: 'wallet' | 'customer'): Op => ({ op: 'account', account, kind, atMs })
const credit = (account: string, amount: number, source: 'system:usdc' | 'system:grant', ref: string): Op => {
  return { op: 'credit', account, amount: microUsd(amount), source, ref, atMs }
}
const hold = (id: string, account: string, amount: number, untilMs = atMs + 30_000): Op => {
  return { op: 'hold', hold: id, account, amount: microUsd(amount), lease: lease('first', untilMs), atMs }
}
const line = (sku: string, units: bigint, unitPricePicoUsd: bigint, amount: number): Line => {
  return { sku, units, unitPricePicoUsd, amount: microUsd(amount) }
}
const capture = (id: string, model: string, lines: Line[]): Op => {
  return { op: 'capture', hold: id, request: id, model, lines, atMs }
}
const queue = (job: string, request: string): Op => {
  const set = { account: 'customer:ada', model: 'demo-video', request, input: '{"prompt":"a boat"}' }
  return { op: 'job', job, from: null, to: 'queued', fence: 0, set, atMs }
}
const payment = (id: string, from: PaymentState | null, to: PaymentState, fence: number, transaction?: string): Op => {
  const first = { network: 'eip155:8453', payer: wallet, amount: microUsd(5_000_000), payload: '{}' }
  const set = { ...(from === null ? first : {}), ...(transaction === undefined ? {} : { transaction }) }
  return { op: 'payment', payment: id, from, to, fence, set, atMs }
}

const wallet = '0x00000000000000000000000000000000000000aa'
const video = [line('demo-video', 4n, 100_000_000_000n, 400_000)]

/** In this order, one commit each; every kind of operation and every state that the first release knew. */
export const firstUnits: readonly Unit[] = [
  unit(open('customer:ada', 'customer'), credit('customer:ada', 9_000_000, 'system:grant', 'grant:customer:ada')),
  unit(open(`wallet:${wallet}`, 'wallet'), { op: 'wallet', wallet, account: `wallet:${wallet}`, atMs }),
  unit(payment('paid', null, 'claimed', 0)),
  unit(payment('paid', 'claimed', 'settling', 1)),
  unit(
    payment('paid', 'settling', 'credited', 2, `0x${'ab'.repeat(32)}`),
    credit(`wallet:${wallet}`, 5_000_000, 'system:usdc', 'topup:paid'),
  ),
  unit(payment('asked', null, 'claimed', 0)),
  unit(payment('asked', 'claimed', 'settling', 1), payment('asked', 'settling', 'unknown', 2)),
  unit(payment('refused', null, 'claimed', 0), payment('refused', 'claimed', 'rejected', 1)),
  unit(payment('late', null, 'claimed', 0), payment('late', 'claimed', 'expired', 1)),
  unit(hold('chat', `wallet:${wallet}`, 9_000)),
  // 185.10… and 46.20… micro-USD: only the request as a whole is rounded.
  unit(
    capture('chat', 'demo-chat', [
      line('input', 1_234n, 150_001n, 186),
      line('output', 77n, 600_007n, 46),
      line('search', 3n, 1n, 0),
    ]),
  ),
  unit(hold('film', 'customer:ada', 400_000)),
  unit(capture('film', 'demo-video', video), queue('film-job', 'film')),
  unit(hold('lost', 'customer:ada', 400_000), capture('lost', 'demo-video', video), queue('lost-job', 'lost')),
  unit({
    op: 'job',
    job: 'lost-job',
    from: 'queued',
    to: 'running',
    fence: 1,
    set: { lease: lease('first', atMs) },
    atMs,
  }),
  unit(
    {
      op: 'job',
      job: 'lost-job',
      from: 'running',
      to: 'failed',
      fence: 2,
      set: { failure: '{"reason":"no frames"}', lease: null },
      atMs,
    },
    { op: 'refund', request: 'lost', reason: 'The video failed.', atMs },
  ),
  unit(hold('let go', 'customer:ada', 70)),
  unit({ op: 'release', hold: 'let go' }),
  unit(hold('open', 'customer:ada', 1_500, atMs + 3_600_000)),
  unit({ op: 'extend', hold: 'open', amount: microUsd(500) }),
  unit(hold('dead', `wallet:${wallet}`, 11, atMs)),
  unit({ op: 'nonce', key: 'nonce', expiresAtMs: atMs + 600_000 }),
  unit({ op: 'limit', account: 'customer:ada', key: null, model: 'demo-chat', tier: 'S', type: 'RPM', atMs }),
]

/** What the first release told of its accounts at the end: posted and held, micro-USD. */
export const firstBalances: Readonly<Record<string, { posted: bigint; held: bigint }>> = {
  'customer:ada': { posted: 8_600_000n, held: 2_000n },
  [`wallet:${wallet}`]: { posted: 4_999_768n, held: 11n },
}
