/** How a hold is renewed while its call runs, its checkpoints, and who ends it after its process died. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { Charge } from '#ledger/charges/charge.ts'
import { Charges } from '#ledger/charges/charges.ts'
import { Funding } from '#ledger/charges/funding.ts'
import { recoverHolds, recoverHoldsAtStart } from '#ledger/charges/recover-holds.ts'
import type { Store } from '#ledger/store/store.ts'
import { readOwed, type Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { capture, hold, linesOf, mustCommit, release, unit } from '../../ledger/store/sample-ops.ts'
import { type ChargeFixture, openChargeFixture } from './charge-fixture.ts'

let fixture: ChargeFixture
let charges: Charges
beforeAll(async () => {
  fixture = await openChargeFixture()
})
afterAll(() => fixture.dispose())
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  charges = fixture.charges()
})
afterEach(async () => {
  vi.clearAllTimers()
  vi.useRealTimers()
  for (const { id } of await fixture.store.read.selectFrom('hold').select('id').execute())
    await mustCommit(fixture.store, release(id))
})

const owedOf = async (of: string) => {
  const [row] = await fixture.held(of)
  return row?.owed ? readOwed(row.owed).lines.map(({ amount }) => amount) : null
}

async function opened(credit = 1_000n, amount = 100n) {
  const principal = await fixture.customer(credit)
  return { principal, charge: await charges.open(fixture.order(principal, amount)) }
}

describe('a lease', () => {
  test('is thirty seconds long, and is moved once it is ten seconds old', async () => {
    const { principal } = await opened()
    const until = async () => (await fixture.held(principal.account))[0]?.lease_until_ms
    const first = fixture.clock.now() + 30_000
    expect(await until()).toBe(first)
    fixture.clock.pass(9_999)
    await charges.renew()
    expect(await until()).toBe(first)
    fixture.clock.pass(1)
    await charges.renew()
    expect(await until()).toBe(first + 10_000)
    fixture.clock.pass(9_999)
    await charges.renew()
    expect(await until()).toBe(first + 10_000)
  })

  test('is moved at once if the clock was set back', async () => {
    const { principal } = await opened()
    fixture.clock.pass(-3_600_000)
    await charges.renew()
    expect((await fixture.held(principal.account))[0]?.lease_until_ms).toBe(fixture.clock.now() + 30_000)
  })

  test('is moved by itself, while anything is open', async () => {
    const { principal, charge } = await opened()
    fixture.clock.pass(10_000)
    await vi.advanceTimersByTimeAsync(250)
    await expect
      .poll(async () => (await fixture.held(principal.account))[0]?.lease_until_ms)
      .toBe(fixture.clock.now() + 30_000)
    await charge.release()
    expect(vi.getTimerCount()).toBe(1)
    await charges.drain()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('of a hold that others have ended tells its work that it is lost', async () => {
    const { charge } = await opened()
    await mustCommit(fixture.store, release(charge.holdId))
    fixture.clock.pass(10_000)
    expect(charge.isLost).toBe(false)
    await charges.renew()
    expect(charge.isLost).toBe(true)
  })

  test('that another process took over tells it too', async () => {
    const { charge } = await opened()
    charge.renewed({ ok: false, op: 0, why: 'not_owner' })
    expect(charge.isLost).toBe(true)
  })

  test('is not lost for any other refusal, nor where the outcome is not known', async () => {
    const { charge } = await opened()
    charge.renewed({ ok: false, op: 0, why: 'read_only' })
    charge.renewed({ ok: true, again: false, balances: [] })
    charge.renewed(undefined)
    expect(charge.isLost).toBe(false)
  })

  test('of a hold that has ended by itself is not lost', async () => {
    const { charge } = await opened()
    await charge.release()
    charge.renewed({ ok: false, op: 0, why: 'no_hold' })
    expect([charge.isLost, charge.isLeaseOld, charge.checkpointUnit()]).toEqual([false, false, null])
  })

  test('that an extension finds gone is lost as well', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await charges.open(fixture.order(principal, 100n, 200n))
    await mustCommit(fixture.store, release(charge.holdId))
    expect([await charge.extend(microUsd(1)), charge.isLost]).toEqual(['no_hold', true])
  })
})

describe('what is owed', () => {
  test('is written down once it is two seconds old, and again when it has grown', async () => {
    const { principal, charge } = await opened()
    let owed = linesOf([7n])
    charge.meter(() => owed)
    fixture.clock.pass(1_999)
    await charges.renew()
    expect(await owedOf(principal.account)).toBeNull()
    fixture.clock.pass(1)
    await charges.renew()
    expect(await owedOf(principal.account)).toEqual([7n])
    owed = linesOf([7n, 5n])
    fixture.clock.pass(1_999)
    await charges.renew()
    expect(await owedOf(principal.account)).toEqual([7n])
    fixture.clock.pass(1)
    await charges.renew()
    expect(await owedOf(principal.account)).toEqual([7n, 5n])
    await charge.release()
  })

  test('names its request and its model', async () => {
    const { principal, charge } = await opened()
    charge.meter(() => linesOf([7n]))
    await charge.checkpoint()
    const [row] = await fixture.held(principal.account)
    expect(readOwed(row?.owed ?? '')).toMatchObject({ request: charge.order.request, model: 'demo-chat' })
  })

  const counted = (units: Unit[][]): Store => ({
    ...fixture.store,
    commit: async all => {
      units.push([...all])
      return fixture.store.commit(all)
    },
  })

  test('and has not grown is not written again, until its lease is old', async () => {
    const units: Unit[][] = []
    const store = counted(units)
    charges = fixture.charges({ store })
    const { charge } = await opened()
    charge.meter(() => linesOf([7n]))
    await charge.checkpoint()
    units.length = 0
    fixture.clock.pass(2_000)
    await charges.renew()
    await charge.checkpoint()
    expect(units).toEqual([])
    fixture.clock.pass(8_000)
    await charges.renew()
    expect(units.flat().map(({ ops }) => ops)).toMatchObject([[{ op: 'renew', hold: charge.holdId }]])
    expect(units.flat()[0]?.ops[0]).not.toHaveProperty('owed')
  })

  test('of many streams is written in turns, thirty-two at once', async () => {
    const units: Unit[][] = []
    charges = fixture.charges({ store: counted(units) })
    const principal = await fixture.customer(10_000n)
    const open: Charge[] = []
    for (let count = 0; count < 40; count++) {
      const charge = await charges.open({ ...fixture.order(principal, 10n), holdId: uuidV7(fixture.clock.now()) })
      charge.meter(() => linesOf([1n]))
      open.push(charge)
    }
    units.length = 0
    fixture.clock.pass(2_000)
    await charges.renew()
    await charges.renew()
    await charges.renew()
    expect(units.map(({ length }) => length)).toEqual([32, 8])
    const written = units.flat().map(({ ops: [op] }) => (op?.op === 'renew' ? op.hold : ''))
    expect(written).toEqual(open.map(({ holdId }) => holdId))
  })

  test('keeps the leases of all the others moving meanwhile, each once', async () => {
    const units: Unit[][] = []
    charges = fixture.charges({ store: counted(units) })
    const one = await opened()
    const other = await opened()
    one.charge.meter(() => linesOf([1n]))
    units.length = 0
    fixture.clock.pass(10_000)
    await charges.renew()
    const renewed = units.flat().map(({ ops: [op] }) => (op?.op === 'renew' ? op.hold : ''))
    expect(renewed).toEqual([one.charge.holdId, other.charge.holdId])
  })

  test('and may not have arrived is written with the next one, and none is lost', async () => {
    let fails = true
    charges = fixture.charges({
      store: {
        ...fixture.store,
        commit: units =>
          fails && units.some(({ ops: [op] }) => op?.op === 'renew')
            ? Promise.reject(new Error('the disk is full'))
            : fixture.store.commit(units),
      },
    })
    const { principal, charge } = await opened()
    charge.meter(() => linesOf([7n]))
    await charge.checkpoint()
    fixture.clock.pass(2_000)
    await charges.renew()
    expect([await owedOf(principal.account), charge.isLost]).toEqual([null, false])
    fails = false
    await charge.checkpoint()
    expect(await owedOf(principal.account)).toEqual([7n])
  })

  test('is written one at a time', async () => {
    const units: Unit[][] = []
    charges = fixture.charges({ store: counted(units) })
    const { charge } = await opened()
    let owed = 1n
    charge.meter(() => linesOf([owed++]))
    units.length = 0
    await Promise.all([charge.checkpoint(), charge.checkpoint()])
    expect(units).toHaveLength(1)
    await charge.checkpoint()
    expect(units).toHaveLength(2)
  })
})

describe('draining', () => {
  test('ends at once where nothing is open, and once the last has ended where something is', async () => {
    await charges.drain()
    const one = await opened()
    const two = await opened()
    let drained = 0
    const both = Promise.all([charges.drain().then(() => drained++), charges.drain().then(() => drained++)])
    await one.charge.release()
    expect(drained).toBe(0)
    await two.charge.release()
    await both
    expect(drained).toBe(2)
  })
})

describe('a hold whose process died', () => {
  const dead = async (amount = 100n) => {
    const { principal, charge } = await opened(1_000n, amount)
    return { account: principal.account, charge }
  }
  const kinds = (of: string) => fixture.entriesOf(of)

  test('is freed once its lease has run out, and not a millisecond before', async () => {
    const { account } = await dead()
    fixture.clock.pass(30_000)
    expect([await recoverHolds(fixture.store, fixture.clock), (await fixture.held(account)).length]).toEqual([0, 1])
    fixture.clock.pass(1)
    expect([await recoverHolds(fixture.store, fixture.clock), (await fixture.held(account)).length]).toEqual([1, 0])
    expect([await kinds(account), await recoverHolds(fixture.store, fixture.clock)]).toEqual([[], 0])
  })

  test('is charged what its last checkpoint says', async () => {
    const { account, charge } = await dead()
    charge.meter(() => linesOf([30n, 40n]))
    await charge.checkpoint()
    fixture.clock.pass(30_001)
    expect(await recoverHolds(fixture.store, fixture.clock)).toBe(1)
    expect(await kinds(account)).toEqual(['CHARGE 30', 'CHARGE 40'])
    const request = fixture.store.read.selectFrom('entry').select(['request', 'model']).where('account', '=', account)
    expect(await request.where('kind', '=', 'CHARGE').limit(1).execute()).toEqual([
      { request: charge.order.request, model: 'demo-chat' },
    ])
  })

  const owed: [rule: string, amount: bigint, entries: string[]][] = [
    ['exactly its hold is all paid', 100n, ['CHARGE 100']],
    ['beyond its hold is written off', 101n, ['WRITE_OFF 1', 'CHARGE 101']],
  ]
  test.each(owed)('and what it owes %s', async (_rule, amount, entries) => {
    const { account, charge } = await dead()
    charge.meter(() => linesOf([amount]))
    await charge.checkpoint()
    fixture.clock.pass(30_001)
    await recoverHolds(fixture.store, fixture.clock)
    expect(await kinds(account)).toEqual(entries)
  })

  test('and whose request was charged under another hold is freed', async () => {
    const { account, charge } = await dead()
    charge.meter(() => linesOf([30n]))
    await charge.checkpoint()
    await mustCommit(fixture.store, hold(`again ${account}`, 30n, account))
    await mustCommit(fixture.store, capture(`again ${account}`, [30n], charge.order.request))
    fixture.clock.pass(30_001)
    expect(await recoverHolds(fixture.store, fixture.clock)).toBe(1)
    expect([await kinds(account), await fixture.held(account)]).toEqual([['CHARGE 30'], []])
  })

  test('is found among those that this process works under', async () => {
    const own = await dead()
    const other = await dead()
    fixture.clock.pass(30_001)
    const isOpenHere = (id: string) => id === own.charge.holdId
    expect(await recoverHolds(fixture.store, fixture.clock, { isOpenHere, isDue: () => true })).toBe(1)
    expect([(await fixture.held(own.account)).length, (await fixture.held(other.account)).length]).toEqual([1, 0])
  })

  test('is one of more than a slice: all of them are ended', async () => {
    const principal = await fixture.customer(10_000n)
    const dead = { owner: 'one', untilMs: 1 }
    const holds = Array.from({ length: 501 }, (_, count) => hold(`of many ${count}`, 1n, principal.account, dead))
    await fixture.store.commit(holds.map(op => unit(op)))
    expect(await recoverHolds(fixture.store, fixture.clock)).toBe(501)
    expect(await fixture.held(principal.account)).toEqual([])
  })

  test('and is alive again by the time it would be ended is left alone', async () => {
    const { account, charge } = await dead()
    fixture.clock.pass(30_001)
    let looks = 0
    const reviving: Store = {
      ...fixture.store,
      commit: async units => {
        looks++
        await mustCommit(fixture.store, ...charge.renewal().ops)
        return fixture.store.commit(units)
      },
    }
    expect(await recoverHolds(reviving, fixture.clock)).toBe(0)
    expect([looks > 0, (await fixture.held(account)).length]).toEqual([true, 1])
  })

  test.each([
    ['as much as is allowed', 5_000, 1],
    ['more than is allowed', 5_001, 0],
  ])('is ended where the clock differs by %s: %i ms', async (_rule, differenceMs, ended) => {
    await dead()
    fixture.clock.pass(30_001)
    const shared: Store = { ...fixture.store, clockDifferenceMs: async () => differenceMs }
    expect(await recoverHolds(shared, fixture.clock)).toBe(ended)
  })

  test('is ended at startup, whatever its lease, if no other process writes; the process’s own holds are not', async () => {
    const { account } = await dead()
    const own = await dead()
    const { charge } = own
    await mustCommit(fixture.store, release(charge.holdId))
    await mustCommit(
      fixture.store,
      hold(`own of ${own.account}`, 5n, own.account, { owner: 'the next one', untilMs: fixture.clock.now() }),
    )
    expect(await recoverHoldsAtStart({ ...fixture.store, soleOwner: true }, fixture.clock, 'the next one')).toBe(1)
    expect([(await fixture.held(account)).length, (await fixture.held(own.account)).length]).toEqual([0, 1])
  })

  test('is left at a start where others write too, who may be about to renew it', async () => {
    const { account } = await dead()
    const shared: Store = { ...fixture.store, soleOwner: false }
    expect(await recoverHoldsAtStart(shared, fixture.clock, 'the next one')).toBe(0)
    fixture.clock.pass(30_001)
    expect(await recoverHoldsAtStart(shared, fixture.clock, 'the next one')).toBe(0)
    expect([await recoverHolds(shared, fixture.clock), await fixture.held(account)]).toEqual([1, []])
  })
})

test('a process that opens a charge names itself in the lease', async () => {
  await new Charges({
    store: fixture.store,
    clock: fixture.clock,
    owner: 'a process of this name',
    funding: new Funding({ store: fixture.store, clock: fixture.clock }),
  }).open(fixture.order(await fixture.customer(10n), 10n))
  expect(await fixture.store.read.selectFrom('hold').select('lease_owner').execute()).toEqual([
    { lease_owner: 'a process of this name' },
  ])
})
