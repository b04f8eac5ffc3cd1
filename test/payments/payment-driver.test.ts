/** What becomes of a new payment by what its facilitator says and what the chain shows; both are told here, the ledger is real. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import { ChainUnavailable, type OnChain, paymentIdOf } from '#payments/payment/payment.ts'
import { refusalOf } from '#payments/top-ups/payment-rows.ts'
import { mustCommit } from '../ledger/store/sample-ops.ts'
import { away, type DriverWorld, landed, open, openDriverWorld, refused, type Told } from './driver-world.ts'

let world: DriverWorld
beforeAll(async () => {
  world = await openDriverWorld()
})
afterAll(() => world.dispose())
beforeEach(() => world.begins())

const chainShows: [rule: string, seen: OnChain, state: string, credited: bigint | null][] = [
  ['the money has come', landed, 'credited', 5_000_000n],
  [
    'less has come than was signed: what came counts',
    { state: 'landed', transaction: '0xfeed', amount: microUsd(4) },
    'credited',
    4n,
  ],
  ['it is spent, and nothing came', { state: 'void' }, 'rejected', null],
]

describe('a payment that is new', () => {
  test.each(chainShows)('and was settled, where %s', async (_rule, seen, state, credited) => {
    const ended = await world.begin({ seen: [seen] })
    expect([ended.refusal, ended.state, ended.credited?.amount ?? null]).toEqual([null, state, credited])
    expect([ended.asked.settled, ended.asked.found, ended.row?.leaseUntilMs]).toEqual([1, ['0xfeed'], null])
  })

  test('is credited to its payer’s own account, which is opened with it', async () => {
    const { payment, credited, row } = await world.begin({ seen: [landed] })
    expect(credited?.account).toBe(`wallet:${payment.authorization.from}`)
    expect(row).toMatchObject({ transaction: '0xfeed', fence: 3 })
    const answer = JSON.parse((await world.rows.answerOf(row ?? expect.fail())).body)
    expect(answer).toMatchObject({
      success: true,
      data: { walletAddress: payment.authorization.from, amountCredited: 5, newBalance: 5 },
    })
  })

  test('is credited to the account that its wallet was given to', async () => {
    const payment = world.signed()
    const wallet = payment.authorization.from
    await mustCommit(world.store, { op: 'account', account: wallet, kind: 'customer', atMs: 1 })
    await mustCommit(world.store, { op: 'wallet', wallet, account: wallet, atMs: 1 })
    expect((await world.begin({ seen: [landed] }, payment)).credited?.account).toBe(wallet)
  })

  test('of a suspended account claims and settles nothing, and money that has come already is credited', async () => {
    const payment = world.signed()
    const wallet = payment.authorization.from
    await mustCommit(world.store, { op: 'account', account: wallet, kind: 'customer', atMs: 1 })
    await mustCommit(world.store, { op: 'wallet', wallet, account: wallet, atMs: 1 })
    await mustCommit(world.store, { op: 'suspend', account: wallet, reason: 'a test', atMs: 1 })
    const ended = await world.begin({ seen: [landed] }, payment)
    expect([ended.refusal, ended.row, ended.asked.settled]).toMatchObject([{ kind: 'X402_ACCESS_DISABLED' }, null, 0])
    const come = await world.begin({ verdict: refused('nonce_used'), seen: [landed] }, payment)
    expect([come.state, come.credited?.amount]).toEqual(['credited', 5_000_000n])
  })

  const refusals: [rule: string, told: Told, refusal: string | null, state: string | null, settled: number][] = [
    ['whose signature is bad claims nothing', { verdict: refused('invalid_signature') }, 'invalid_signature', null, 0],
    [
      'whose payer has too little claims nothing',
      { verdict: refused('insufficient_funds') },
      'insufficient_funds',
      null,
      0,
    ],
    [
      'that is refused when it is settled is rejected',
      { settlement: { state: 'refused', reason: 'insufficient_funds' } },
      null,
      'rejected',
      1,
    ],
    [
      'that is refused for a used nonce, which the node does not see, stays unknown',
      { settlement: { state: 'refused', reason: 'nonce_used' } },
      null,
      'unknown',
      1,
    ],
    [
      'that is refused though it has landed is credited',
      { settlement: { state: 'refused', reason: 'nonce_used' }, seen: [landed] },
      null,
      'credited',
      1,
    ],
    [
      'that is refused and is void is rejected',
      { settlement: { state: 'refused', reason: 'nonce_used' }, seen: [{ state: 'void' }] },
      null,
      'rejected',
      1,
    ],
    [
      'that is refused and not deep enough stays unknown',
      { settlement: { state: 'refused', reason: 'expired' }, seen: [{ state: 'unconfirmed' }] },
      null,
      'unknown',
      1,
    ],
    [
      'that could not be sent, by our own fault, stays unknown',
      { settlement: { state: 'unsent', why: 'no gas' } },
      null,
      'unknown',
      1,
    ],
    [
      'whose answer was lost is asked of the chain',
      { settlement: new Error('cut'), seen: [landed] },
      null,
      'credited',
      1,
    ],
    [
      'whose refusal is not a proof is checked on the chain',
      { settlement: { state: 'doubtful', why: 'said so' }, seen: [landed] },
      null,
      'credited',
      1,
    ],
    [
      'that was sent while the chain is away stays unknown',
      { settlement: { state: 'sent', transaction: '0x1' }, seen: [away] },
      null,
      'unknown',
      1,
    ],
  ]
  test.each(refusals)('%s', async (_rule, told, refusal, state, settled) => {
    const ended = await world.begin(told)
    expect([ended.refusal, ended.state, ended.asked.settled]).toEqual([refusal, state, settled])
    expect(ended.row?.leaseUntilMs ?? null).toBeNull()
    expect(ended.credited === null).toBe(state !== 'credited')
  })

  test('is checked repeatedly until it appears', async () => {
    const ended = await world.begin({ seen: [open, open, landed] })
    expect([ended.state, ended.asked.found.length]).toEqual(['credited', 3])
  })

  test('is not checked further if the chain did not answer twice', async () => {
    const ended = await world.begin({ seen: [away, away, landed] })
    expect([ended.state, ended.asked.found.length]).toEqual(['unknown', 2])
  })

  test('that is reported as settled but is not on the chain is left to the next attempt, after ten looks', async () => {
    const ended = await world.begin({ seen: [open] })
    expect([ended.state, ended.asked.found.length]).toEqual(['unknown', 10])
    expect(world.logged).toEqual(['The chain does not show a payment that the facilitator reports as settled.'])
  })
})

describe('of a payment that was settled', () => {
  test.each([
    ['without a reason of the chain, by its nonce', { state: 'void' } as const, 'nonce_used'],
    ['with the chain’s reason', { state: 'void', reason: 'wrong_recipient' } as const, 'wrong_recipient'],
  ])('a void transfer is why it is refused from then on: %s', async (_rule, seen, reason) => {
    const { row } = await world.begin({ seen: [seen] })
    expect(refusalOf(row ?? expect.fail())).toBe(reason)
  })

  test('the first request waits for its depth', async () => {
    const ended = await world.begin({ seen: [{ state: 'unconfirmed' }, landed] })
    expect([ended.state, ended.asked.found.length]).toEqual(['credited', 2])
  })

  /** A second passes with each pause. */
  const pause = async (ms: number) => world.clock.pass(ms)
  const unconfirmed = (times: number) => Array.from({ length: times }, (): OnChain => ({ state: 'unconfirmed' }))

  test('the first request waits long enough for ten confirmations on Base, and no other driver takes it', async () => {
    const payment = world.signed()
    const free: number[] = []
    const waits = async (ms: number) => {
      // Each check takes half a second.
      await pause(ms + 500)
      const abandoned = await world.rows.abandoned(100)
      if (abandoned.some(({ key }) => key === payment.key)) free.push(world.clock.now())
    }
    // Some are made by a node that is behind, or that does not answer.
    const seen = [...unconfirmed(8), open, ...unconfirmed(8), away, ...unconfirmed(4), landed]
    const ended = await world.begin({ seen, pause: waits }, payment)
    expect([ended.state, ended.asked.found.length, free]).toEqual(['credited', 23, []])
  })

  test('it waits no longer than half a minute', async () => {
    const ended = await world.begin({ seen: unconfirmed(1), pause })
    expect([ended.state, ended.asked.found.length, ended.row?.leaseUntilMs]).toEqual(['unknown', 27, null])
  })

  const left: [rule: string, then: (OnChain | Error)[], looks: number][] = [
    ['whose block was dropped', [open], 3],
    ['of which the node tells nothing', [away], 3],
  ]
  test.each(left)('one %s is left to the next driver', async (_rule, then, looks) => {
    const ended = await world.begin({ seen: [...unconfirmed(1), ...then], pause })
    expect([ended.state, ended.asked.found.length, ended.row?.leaseUntilMs]).toEqual(['unknown', looks, null])
  })

  test('a stopping service waits for no more confirmations', async () => {
    const payment = world.signed()
    const { driver, asked } = world.driverOf({ seen: unconfirmed(1), pause: async () => driver.close() })
    await driver.begin(payment, null, async () => undefined)
    expect([asked.found.length, (await world.stateOf(payment)).row?.leaseUntilMs]).toEqual([2, null])
  })

  test('every resend is answered with the settlement that the chain showed', async () => {
    const { payment, row } = await world.begin({ seen: [landed] })
    expect((await world.rows.answerOf(row ?? expect.fail())).settlement).toEqual({
      ...{ success: true, network: 'eip155:8453', payer: payment.authorization.from, transaction: '0xfeed' },
    })
  })

  test('the credit goes to whom the wallet was given in the meantime', async () => {
    const payment = world.signed()
    const wallet = payment.authorization.from
    let commits = 0
    const rows = world.rowsOf('one', {
      ...world.store,
      commit: async units => {
        if (commits++ === 0) {
          await mustCommit(world.store, { op: 'account', account: `of ${wallet}`, kind: 'customer', atMs: 1 })
          await mustCommit(world.store, { op: 'wallet', wallet, account: `of ${wallet}`, atMs: 1 })
        }
        return world.store.commit(units)
      },
    })
    await rows.credit(null, payment, { state: 'landed', transaction: '0xfeed', amount: microUsd(5_000_000) })
    expect((await world.stateOf(payment)).credited).toEqual({ amount: 5_000_000n, account: `of ${wallet}` })
  })

  const words: [rule: string, told: Told, message: string][] = [
    [
      'it was sent, and is not there',
      { settlement: { state: 'sent', transaction: '0x1' }, seen: [away] },
      'A payment was sent but is not on the chain yet; it is checked again.',
    ],
    ['our own fault kept it back', { settlement: { state: 'unsent', why: 'no gas' } }, 'A payment could not be sent.'],
    [
      'its facilitator was cut off',
      { settlement: new Error('cut'), seen: [landed] },
      'The facilitator gave no answer; checking the chain.',
    ],
    [
      'a refusal is not a proof',
      { settlement: { state: 'doubtful', why: 'so' }, seen: [landed] },
      'The facilitator does not report a settlement; checking the chain.',
    ],
  ]
  test.each(words)('the operator is warned if %s', async (_rule, told, message) => {
    await world.begin(told)
    expect(world.logged).toEqual([message])
  })

  const facts: [rule: string, told: Told, fact: object][] = [
    ['why it could not be sent', { settlement: { state: 'unsent', why: 'no gas' } }, { why: 'no gas' }],
    [
      'why its facilitator calls it bad',
      { settlement: { state: 'doubtful', why: 'so' }, seen: [landed] },
      { why: 'so' },
    ],
    [
      'why a payment was refused',
      { verdict: { valid: false, reason: 'facilitator_refused', why: 'so' } },
      { why: 'so' },
    ],
    [
      'the transaction to look for',
      { settlement: { state: 'sent', transaction: '0x1' }, seen: [away] },
      { transaction: '0x1' },
    ],
  ]
  test.each(facts)('and the operator learns which it is, and %s', async (_rule, told, fact) => {
    const { payment } = await world.begin(told)
    expect(world.facts).toEqual([{ payment: paymentIdOf(payment.key), ...fact }])
  })

  const circle = new TypeError('a secret')
  circle.cause = new Error('a secret', { cause: circle })
  const failures: [rule: string, thrown: Error, failure: string][] = [
    ['the name of a failure', new RangeError('a secret'), 'RangeError'],
    ['those of its causes', new Error('a secret', { cause: new TypeError('a secret') }), 'Error < TypeError'],
    ['no cause that is not an error', new Error('a secret', { cause: 'a secret' }), 'Error'],
    ['six of causes that go round', circle, 'TypeError < Error < TypeError < Error < TypeError < Error'],
  ]
  test.each(failures)('and the operator learns %s, never its text', async (_rule, thrown, failure) => {
    const { payment } = await world.begin({ settlement: thrown, seen: [landed] })
    expect(world.facts).toEqual([{ payment: paymentIdOf(payment.key), failure }])
  })
})

describe('a payment that is late, or whose nonce is used, as its facilitator says,', () => {
  const late = () => world.signed({ validBefore: `${world.seconds() + 9}` })
  const cases: [rule: string, told: Told, payment: () => EvmPayment, refusal: string | null, state: string | null][] = [
    [
      'is credited where its money is here',
      { verdict: refused('nonce_used'), seen: [landed] },
      () => world.signed(),
      null,
      'credited',
    ],
    ['is credited where it is late and its money is here', { seen: [landed] }, late, null, 'credited'],
    ['is refused where nothing has come', { seen: [open] }, late, 'expired', null],
    [
      'is refused with the chain’s reason',
      { verdict: refused('expired'), seen: [{ state: 'void', reason: 'wrong_recipient' }] },
      () => world.signed(),
      'wrong_recipient',
      null,
    ],
    [
      'is refused where it is spent for something else',
      { verdict: refused('nonce_used'), seen: [{ state: 'void' }] },
      () => world.signed(),
      'nonce_used',
      null,
    ],
    [
      'waits where its block may still be dropped',
      { verdict: refused('nonce_used'), seen: [{ state: 'unconfirmed' }] },
      () => world.signed(),
      null,
      'unknown',
    ],
    [
      'is refused for a forged signature, late or not',
      { verdict: refused('invalid_signature'), seen: [landed] },
      late,
      'invalid_signature',
      null,
    ],
    [
      'is late before it is anything else',
      { verdict: refused('insufficient_funds'), seen: [open] },
      late,
      'expired',
      null,
    ],
  ]
  test.each(cases)('%s', async (_rule, told, payment, refusal, state) => {
    const ended = await world.begin(told, payment())
    expect([ended.refusal, ended.state, ended.asked.settled]).toEqual([refusal, state, 0])
  })

  test('is neither where two nodes say different things of its nonce', async () => {
    const ended = await world.begin({ verdict: refused('nonce_used'), seen: [open] })
    expect([ended.refusal, ended.state]).toEqual([expect.any(ChainUnavailable), null])
  })

  test('is refused before its facilitator is asked where it is good for too long', async () => {
    const ended = await world.begin({ seen: [landed] }, world.signed({ validBefore: `${world.seconds() + 361}` }))
    expect([ended.refusal, ended.state]).toEqual(['validity_too_long', null])
  })
})

describe('a payment that was rejected before', () => {
  test('is judged again, and credited once its money has arrived', async () => {
    const first = await world.begin({ settlement: { state: 'refused', reason: 'insufficient_funds' } })
    expect([first.state, refusalOf(first.row ?? expect.fail())]).toEqual(['rejected', 'insufficient_funds'])
    const second = await world.begin({ seen: [landed] }, first.payment)
    expect([second.state, second.row?.fence]).toEqual(['credited', 6])
  })
})
