/**
 * What the first release did to the ledger in `first-release.sql`. Never changed: every unit here is asked once more
 * of today's code, which must answer what the first release answered.
 */
import { microUsd } from '#contract/money.ts'
import type { KeyBudget, OperatorAct } from '#ledger/store/account-ops.ts'
import type { Capture, Hold, Line, Op, PaymentState, Unit } from '#ledger/store/units.ts'

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
const hold = (id: string, account: string, amount: number, untilMs = atMs + 30_000): Hold => {
  return { op: 'hold', hold: id, account, amount: microUsd(amount), lease: lease('first', untilMs), atMs }
}
const line = (sku: string, units: bigint, unitPricePicoUsd: bigint, amount: number): Line => {
  return { sku, units, unitPricePicoUsd, amount: microUsd(amount) }
}
const capture = (id: string, model: string, lines: Line[]): Capture => {
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

/** The hash of that key, as the first release stored it. */
const firstMark = '2d2ce91f'
const firstKeyHash = `${firstMark}:430ce788d019ab6661d6116bc348f66849271e3f886300d5a02e97516048a106`

const addKey = (key: string, hash: string, label: string, budget: KeyBudget | null): Op => {
  return { op: 'key', key, account: 'customer:ada', hash, prefix: 'fb_exampl', label, expiresAtMs: null, budget, atMs }
}
const month = (usd: number): KeyBudget => ({ period: 'month', usd: microUsd(usd), staking: null })
const starts = { epochStartMs: atMs - (atMs % 86_400_000), monthStartMs: 1_798_761_600_000 }
const budgeted = (id: string, amount: number): Op => {
  return { ...hold(id, 'customer:ada', amount), key: { key: '01a3185c-5000-7000-8000-00000000000b', ...starts } }
}
const claim = (from: 'running' | null, to: 'running' | 'done', fence: number): Op => {
  const first = { account: 'customer:ada', request: 'within', fingerprint: 'asked' }
  return { op: 'claim', claim: 'key of ada', from, to, fence, set: from === null ? first : { answer: '{}' }, atMs }
}
const act = (name: OperatorAct): Op => {
  const words = { subject: null, reason: 'A question.', before: null, after: null }
  return { op: 'act', actor: 'grace', act: name, account: `wallet:${wallet}`, ...words, atMs }
}

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
  unit({ op: 'secret', generation: 1, mark: firstMark, place: 'the first service', atMs }),
  unit({ op: 'receiptKey', key: 'thumbprint', publicKey: 'a public key', atMs }),
  unit(addKey('01a3185c-5000-7000-8000-00000000000a', firstKeyHash, 'laptop', null)),
  unit(
    addKey('01a3185c-5000-7000-8000-00000000000b', `${firstMark}:${'0'.repeat(64)}`, 'with a budget', month(50_000)),
  ),
  unit(budgeted('within', 20_000), capture('within', 'demo-chat', [line('output', 10n, 1_000_000_000n, 10_000)])),
  unit({
    ...{ op: 'keyBudget', key: '01a3185c-5000-7000-8000-00000000000b', budget: month(40_000) },
    ...{ before: { budget: month(50_000), expiresAtMs: null }, covers: starts, label: 'less', atMs },
  }),
  unit({ op: 'revokeKey', key: '01a3185c-5000-7000-8000-00000000000b', atMs }),
  // Of the charge of 4,000 micro-USD, 3,000 are staking credit and 500 exceed the hold.
  unit({ ...hold('staked', 'customer:ada', 3_500), staking: { dayMs: starts.epochStartMs, granted: microUsd(3_000) } }),
  unit({
    ...capture('staked', 'demo-chat', [line('output', 4n, 1_000_000_000n, 4_000)]),
    writeOff: microUsd(500),
  }),
  unit({ op: 'refund', request: 'staked', reason: 'A complaint.', atMs }),
  unit({
    ...{ op: 'renew', hold: 'open', lease: lease('first', atMs + 7_200_000) },
    owed: { request: 'open', model: 'demo-chat', lines: [line('output', 1n, 1_000_000_000n, 1_000)] },
  }),
  unit(claim(null, 'running', 0), claim('running', 'done', 1)),
  unit({
    op: 'customer',
    account: 'customer:ada',
    set: { name: 'Ada', email: 'ada@example.com', plan: 'partner' },
    atMs,
  }),
  unit({ op: 'suspend', account: `wallet:${wallet}`, reason: 'A question.', atMs }, act('customer.suspend')),
  unit({ op: 'resume', account: `wallet:${wallet}` }, act('customer.resume')),
  unit({ op: 'suspend', account: 'customer:ada', reason: 'Another question.', atMs }),
  unit({ op: 'resume', account: 'customer:ada' }),
  unit({ op: 'operator', operator: 'grace', fence: 0, set: { role: 'owner', epoch: 'one', proofs: '{}' }, atMs }),
  unit({ op: 'operator', operator: 'grace', fence: 1, set: { role: 'owner', epoch: 'two', proofs: '{}' }, atMs }),
  unit({ op: 'ledger', state: 'read_only', reason: 'A damaged disk.', atMs }),
  unit({ op: 'ledger', state: 'open', reason: 'It was replaced.', atMs }),
]

/** What the first release told of its accounts at the end: posted and held, micro-USD. */
export const firstBalances: Readonly<Record<string, { posted: bigint; held: bigint }>> = {
  'customer:ada': { posted: 8_590_000n, held: 2_000n },
  [`wallet:${wallet}`]: { posted: 4_999_768n, held: 11n },
}
