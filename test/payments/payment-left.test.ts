/** What becomes of payments that a process left behind, and what the ledger of payments keep of them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { Store } from '#ledger/store/store.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import type { SignedPayment } from '#payments/payment/payment.ts'
import { Completer } from '#payments/top-ups/payment-driver.ts'
import { away, type DriverWorld, landed, open, openDriverWorld, type Told } from './driver-world.ts'

let world: DriverWorld
beforeAll(async () => {
  world = await openDriverWorld()
})
afterAll(() => world.dispose())
beforeEach(() => world.begins())

describe('a payment that was left by a process that died', () => {
  async function left(state: 'claimed' | 'unknown' | 'settling', terms: Partial<EvmPayment['authorization']> = {}) {
    const payment = world.signed(terms)
    const row = await world.rows.claim(payment, null)
    if (state === 'unknown' && row) await world.rows.hold(row, 'unknown', '0xbeef')
    if (state === 'claimed') await reclaim(payment.key)
    world.clock.pass(30_000)
    return payment
  }
  /** As it stands between its claim and its sending. */
  const reclaim = async (key: string) => world.tamper(`UPDATE payment SET state = 'claimed' WHERE id = '${key}'`)

  async function resume(payment: SignedPayment, told: Told) {
    const { driver, asked } = world.driverOf(told)
    const row = await world.rows.find(payment.key)
    const failure = await driver.resume(row ?? expect.fail()).then(
      () => null,
      (error: unknown) => error,
    )
    return { failure, asked, ...(await world.stateOf(payment)) }
  }

  const cases: [rule: string, from: 'claimed' | 'unknown', told: Told, state: string, settled: number][] = [
    ['is credited where its money came', 'unknown', { seen: [landed] }, 'credited', 0],
    ['is rejected where it is spent', 'unknown', { seen: [{ state: 'void' }] }, 'rejected', 0],
    ['waits for its depth', 'unknown', { seen: [{ state: 'unconfirmed' }] }, 'unknown', 0],
    ['is over where the chain says so', 'unknown', { seen: [{ state: 'over' }] }, 'expired', 0],
    ['is sent again where it still can land', 'unknown', { seen: [open, landed] }, 'credited', 1],
    [
      'is not rejected for a refusal, as it may be on its way',
      'unknown',
      { settlement: { state: 'refused', reason: 'insufficient_funds' } },
      'unknown',
      1,
    ],
    [
      'is rejected for one where it was never sent',
      'claimed',
      { settlement: { state: 'refused', reason: 'insufficient_funds' } },
      'rejected',
      1,
    ],
    ['is not waited for', 'unknown', { seen: [open, { state: 'unconfirmed' }, landed] }, 'unknown', 1],
  ]
  test.each(cases)('%s', async (_rule, from, told, state, settled) => {
    const ended = await resume(await left(from), told)
    expect([ended.failure, ended.state, ended.asked.settled, ended.row?.leaseUntilMs]).toEqual([
      null,
      state,
      settled,
      null,
    ])
    expect(ended.asked.found[0]).toBe(from === 'unknown' ? '0xbeef' : null)
  })

  const times: [rule: string, passedSeconds: number, chainSeconds: number | undefined, state: string][] = [
    ['is over a minute after its time by our clock, if the chain’s is at it', 61, 0, 'expired'],
    ['is not over while the chain’s clock is before it', 61, -1, 'unknown'],
    ['is not over by the chain’s clock alone', 60, 0, 'unknown'],
    ['is not over where the chain tells no time', 1_000, undefined, 'unknown'],
  ]
  test.each(times)('%s', async (_rule, passedSeconds, chainSeconds, state) => {
    const payment = await left('unknown')
    const end = Number(payment.authorization.validBefore)
    world.clock.pass((end + passedSeconds) * 1000 - world.clock.now())
    const time = chainSeconds === undefined ? {} : { chainTimeSeconds: end + chainSeconds }
    const ended = await resume(payment, { seen: [{ state: 'open', ...time }] })
    expect([ended.state, ended.asked.settled]).toEqual([state, 0])
  })

  test('is free for the next one where the chain cannot be asked', async () => {
    const ended = await resume(await left('unknown'), { seen: [away] })
    expect([ended.failure, ended.state, ended.row?.leaseUntilMs]).toEqual([away, 'unknown', null])
  })

  test('is driven by one process: the second does nothing', async () => {
    const payment = await left('unknown')
    const row = (await world.rows.find(payment.key)) ?? expect.fail()
    const other = world.rowsOf('two')
    await other.hold(row, 'unknown')
    const { driver, asked } = world.driverOf({ seen: [landed] })
    await driver.resume(row)
    expect([(await world.stateOf(payment)).state, asked.found]).toEqual(['unknown', []])
  })

  test('is found once its lease has ended, those that have waited longest first', async () => {
    await world.tamper("UPDATE payment SET state = 'expired' WHERE state IN ('claimed', 'settling', 'unknown')")
    const first = world.signed()
    await world.rows.claim(first, null)
    world.clock.pass(1)
    const second = world.signed()
    await world.rows.claim(second, null)
    world.clock.pass(29_998)
    expect(await world.rows.abandoned(10)).toEqual([])
    world.clock.pass(1)
    expect((await world.rows.abandoned(10)).map(({ key }) => key)).toEqual([first.key])
    world.clock.pass(1)
    expect((await world.rows.abandoned(10)).map(({ key }) => key)).toEqual([first.key, second.key])
    expect((await world.rows.abandoned(1)).map(({ key }) => key)).toEqual([first.key])
    const [waiting] = await world.rows.abandoned(10)
    await world.rows.postpone(waiting ?? expect.fail())
    expect((await world.rows.abandoned(10)).map(({ key }) => key)).toEqual([second.key, first.key])
  })

  test('is driven while its lease runs, and not from its last millisecond on', async () => {
    const payment = world.signed()
    await world.rows.claim(payment, null)
    const isDriven = async () => world.rows.isDriven((await world.rows.find(payment.key)) ?? expect.fail())
    world.clock.pass(29_999)
    expect(await isDriven()).toBe(true)
    world.clock.pass(1)
    expect(await isDriven()).toBe(false)
  })

  test('is free at the next start if no other process writes; those of this process are not', async () => {
    await world.tamper("UPDATE payment SET state = 'expired' WHERE state IN ('claimed', 'settling', 'unknown')")
    const dead = world.signed()
    await world.rowsOf('dead').claim(dead, null)
    const own = world.signed()
    await world.rows.claim(own, null)
    await world.rowsOf('one', { ...world.store, soleOwner: false }).freeDead()
    expect(await world.rows.abandoned(10)).toEqual([])
    await world.rowsOf('one', { ...world.store, soleOwner: true }).freeDead()
    expect((await world.rows.abandoned(10)).map(({ key }) => key)).toEqual([dead.key])
  })

  test('and that no release of ours can read keeps none of the others from their end', async () => {
    await world.tamper("UPDATE payment SET state = 'expired' WHERE state IN ('claimed', 'settling', 'unknown')")
    const unread = await left('unknown')
    const other = await left('unknown')
    await world.tamper(`UPDATE payment SET payload = '{}' WHERE id = '${unread.key}'`)
    const { driver, log } = world.driverOf({ seen: [landed] })
    await new Completer({ rows: world.rows, driver, log }).complete()
    expect([(await world.stateOf(other)).state, await stateOfRaw(unread.key)]).toEqual(['credited', 'unknown'])
    expect(world.logged).toEqual(['A stored payment cannot be read and is skipped; start the release that wrote it.'])
  })

  test('waits with the others of its rail if their chain does not answer: it is asked once per round', async () => {
    await world.tamper("UPDATE payment SET state = 'expired' WHERE state IN ('claimed', 'settling', 'unknown')")
    await left('unknown')
    await left('unknown')
    const { driver, asked, log } = world.driverOf({ seen: [away] })
    await new Completer({ rows: world.rows, driver, log }).complete()
    expect([asked.found.length, world.logged]).toEqual([1, ['A payment could not be completed yet; it is retried.']])
  })

  test('and whose node never answers keeps the others of its rail from their end for one round only', async () => {
    await world.tamper("UPDATE payment SET state = 'expired' WHERE state IN ('claimed', 'settling', 'unknown')")
    const [never, ...others] = [await left('unknown'), await left('unknown'), await left('unknown')]
    let nowMs = world.clock.now()
    vi.spyOn(world.clock, 'now').mockImplementation(() => ++nowMs)
    const { driver, log } = world.driverOf({ seen: [away, landed, landed, away] })
    const completer = new Completer({ rows: world.rows, driver, log })
    await completer.complete()
    await completer.complete()
    const states = [never, ...others].map(async payment => (await world.stateOf(payment)).state)
    expect(await Promise.all(states)).toEqual(['unknown', 'credited', 'credited'])
  })

  test('and fails for another reason keeps none of the others from their end', async () => {
    await world.tamper("UPDATE payment SET state = 'expired' WHERE state IN ('claimed', 'settling', 'unknown')")
    await left('unknown')
    const other = await left('unknown')
    const { driver, log } = world.driverOf({ seen: [new Error('a fault of ours'), landed] })
    await new Completer({ rows: world.rows, driver, log }).complete()
    expect((await world.stateOf(other)).state).toBe('credited')
  })
})

const stateOfRaw = async (id: string) =>
  (await world.store.read.selectFrom('payment').select('state').where('id', '=', id).executeTakeFirstOrThrow()).state

describe('the ledger of payments', () => {
  test('know a key once it has been claimed', async () => {
    const payment = world.signed()
    expect([await world.rows.exists(payment.key), await world.rows.find(payment.key)]).toEqual([false, null])
    await world.rows.claim(payment, null)
    expect([await world.rows.exists(payment.key), (await world.rows.find(payment.key))?.payment]).toEqual([
      true,
      payment,
    ])
  })

  test('let one of two claim a key', async () => {
    const payment = world.signed()
    const claims = await Promise.all([world.rows.claim(payment, null), world.rowsOf('two').claim(payment, null)])
    expect(claims.map(claim => claim?.state ?? null).filter(state => state !== null)).toEqual(['settling'])
    expect(claims.find(claim => claim)).toEqual(await world.rows.find(payment.key))
  })

  test('credits a payment once, no matter who submits it', async () => {
    const { payment, row } = await world.begin({ seen: [landed] })
    await world.rows.credit(null, payment, { state: 'landed', transaction: '0x2', amount: microUsd(5_000_000) })
    await world.rows.credit({ ...(row ?? expect.fail()), fence: 2 }, payment, {
      state: 'landed',
      transaction: '0x3',
      amount: microUsd(5_000_000),
    })
    const entries = world.store.read.selectFrom('entry').select('id').where('ref', '=', `topup:${payment.key}`)
    expect(await entries.execute()).toHaveLength(1)
  })

  test('moves no payment that another process has moved', async () => {
    const payment = world.signed()
    const row = (await world.rows.claim(payment, null)) ?? expect.fail()
    expect(await world.rows.hold(row, 'unknown', '0x1')).toMatchObject({
      fence: 3,
      transaction: '0x1',
      state: 'unknown',
    })
    expect(await world.rows.hold(row, 'unknown', '0x2')).toBeNull()
    await world.rows.reject(row, 'expired')
    await world.rows.expire(row)
    await world.rows.release(row)
    expect(await world.rows.find(payment.key)).toMatchObject({ state: 'unknown', transaction: '0x1', fence: 3 })
  })

  test('keep what payer, amount and end a payment has where they can be asked for', async () => {
    const payment = world.signed()
    await world.rows.claim(payment, null)
    const row = world.store.read.selectFrom('payment').selectAll().where('id', '=', payment.key)
    expect(await row.executeTakeFirst()).toMatchObject({
      ...{ network: 'eip155:8453', payer: payment.authorization.from, amount: 5_000_000n },
      ...{ valid_before_seconds: Number(payment.authorization.validBefore), lease_owner: 'one' },
    })
  })

  test('refuses an invalid move with an error', async () => {
    const wrong: Store = {
      ...world.store,
      commit: async () => [{ ok: false, op: 0, why: 'invalid' }],
    }
    const row = (await world.rows.claim(world.signed(), null)) ?? expect.fail()
    await expect(world.rowsOf('one', wrong).expire(row)).rejects.toThrow(
      'The ledger refused to move a payment: invalid.',
    )
  })
})
