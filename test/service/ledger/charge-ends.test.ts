/** How a hold grows and ends: what is charged, what is lost, and what is reported. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { AlsoCommitRefused, type ChargeOrder, printedCost } from '#ledger/charges/charge-order.ts'
import { streamWithCharge, withCharge } from '#ledger/charges/charges.ts'
import { Funding, leftForHold } from '#ledger/charges/funding.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { budget, capture, commitOps, hold, ledger, linesOf, mustCommit, nonce } from '../../ledger/store/sample-ops.ts'
import { type ChargeFixture, openChargeFixture } from './charge-fixture.ts'

let fixture: ChargeFixture
beforeAll(async () => {
  fixture = await openChargeFixture()
})
afterAll(() => fixture.dispose())

const used = (name: string): Op => nonce(name)

describe('a hold grows', () => {
  test('by what was asked for, and knows how far it may still', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n, 300n))
    expect([charge.heldAvailableMicroUsd, charge.heldMicroUsd, charge.restMicroUsd]).toEqual([900n, 100n, 200n])
    expect(await charge.extend(microUsd(50))).toBeNull()
    expect([charge.heldMicroUsd, charge.restMicroUsd]).toEqual([150n, 150n])
    expect((await fixture.held(principal.account)).map(({ amount }) => amount)).toEqual([150n])
    await charge.release()
  })

  test('never beyond what its order allows', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n, 130n))
    expect(await charge.extend(microUsd(50))).toBeNull()
    expect(await charge.extend(microUsd(1))).toBe('insufficient_funds')
    expect((await fixture.held(principal.account)).map(({ amount }) => amount)).toEqual([130n])
    await charge.release()
  })

  test('not at all where its order says nothing of it', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n))
    expect([charge.restMicroUsd, await charge.extend(microUsd(1))]).toEqual([0n, 'insufficient_funds'])
    expect(charge.heldMicroUsd).toBe(100n)
    await charge.release()
  })

  test('by the last of the credit where that is less, and says why where nothing is left', async () => {
    const principal = await fixture.customer(120n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n, 1_000n))
    expect([await charge.extend(microUsd(50)), charge.heldMicroUsd]).toEqual([null, 120n])
    expect([await charge.extend(microUsd(50)), charge.heldMicroUsd]).toEqual(['insufficient_funds', 120n])
    await charge.release()
  })

  test('by the last of the key’s budget, and says which limit it was', async () => {
    const principal = await fixture.customer(1_000n, budget(110n))
    const charge = await fixture.charges().open(fixture.order(principal, 100n, 1_000n))
    expect([await charge.extend(microUsd(50)), charge.heldMicroUsd]).toEqual([null, 110n])
    expect([await charge.extend(microUsd(50)), charge.heldMicroUsd]).toEqual(['over_budget', 110n])
    await charge.release()
  })

  test('not while the ledger is read-only', async () => {
    const principal = await fixture.customer(120n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n, 1_000n))
    await mustCommit(fixture.store, ledger('read_only'))
    expect([await charge.extend(microUsd(50)), charge.heldMicroUsd]).toEqual(['read_only', 100n])
    await mustCommit(fixture.store, ledger('open'))
    await charge.release()
  })

  test('of a hold that is not there nothing is left', async () => {
    expect(await leftForHold(fixture.store, 'no such hold')).toBe(0n)
  })

  test('and what is left for it is staking credit and USD together, each within its limit', async () => {
    const principal = await fixture.customer(1_000n, budget(300n, 20n))
    await fixture.link(principal, 50n)
    const funding = new Funding({ store: fixture.store, clock: fixture.clock, staking: fixture.staking })
    const charge = await fixture.charges({ funding }).open(fixture.order(principal, 15n, 1_000n))
    expect(await leftForHold(fixture.store, charge.holdId)).toBe(305n)
    expect(await charge.extend(microUsd(100))).toBeNull()
    expect(await leftForHold(fixture.store, charge.holdId)).toBe(205n)
    expect(await charge.capture(linesOf([115n]))).toMatchObject({ usd: 95n, staking: 20n })
  })
})

describe('a hold ends', () => {
  test('with the charge of its lines, and the rest is free again', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n))
    expect([charge.open, charge.holdId]).toEqual([true, charge.order.request])
    expect(await charge.capture(linesOf([30n, 40n]))).toEqual({ usd: 70n, staking: 0n, availableMicroUsd: 930n })
    expect(charge.open).toBe(false)
    expect(await fixture.entriesOf(principal.account)).toEqual(['CHARGE 30', 'CHARGE 40'])
    expect(await fixture.held(principal.account)).toEqual([])
  })

  test('once: the second attempt gets the first result, and nothing more is charged', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n))
    const first = await charge.capture(linesOf([30n]))
    expect([await charge.capture(linesOf([60n])), await charge.release(), await charge.settle()]).toEqual([
      first,
      first,
      first,
    ])
    expect(await fixture.entriesOf(principal.account)).toEqual(['CHARGE 30'])
  })

  test('without a charge where there are no lines', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n))
    expect(await charge.release()).toEqual({ usd: 0n, staking: 0n, availableMicroUsd: 1_000n })
    expect([await fixture.entriesOf(principal.account), await fixture.held(principal.account)]).toEqual([[], []])
  })

  test('a request of another hold is charged under its own name', async () => {
    const principal = await fixture.customer(1_000n)
    const order = { ...fixture.order(principal, 100n), holdId: uuidV7(fixture.clock.now()) }
    const charges = fixture.charges()
    const charge = await charges.open(order)
    expect([charge.holdId, charges.isOpen(order.holdId), charges.isOpen(order.request)]).toEqual([
      order.holdId,
      true,
      false,
    ])
    await charge.capture(linesOf([5n]))
    const rows = fixture.store.read.selectFrom('entry').select(['request', 'model'])
    expect(await rows.where('account', '=', principal.account).where('kind', '=', 'CHARGE').execute()).toEqual([
      { request: order.request, model: 'demo-chat' },
    ])
    expect(charges.isOpen(order.holdId)).toBe(false)
  })

  const beyond: [rule: string, most: bigint | undefined, credit: bigint, entries: string[], lost: bigint[]][] = [
    ['exactly its hold: nothing is lost', undefined, 1_000n, ['CHARGE 100', 'CHARGE 50'], []],
    ['beyond it, where it may grow: all is charged', 150n, 1_000n, ['CHARGE 100', 'CHARGE 50'], []],
    [
      'beyond it, where it may not: the rest is written off',
      undefined,
      1_000n,
      ['WRITE_OFF 50', 'CHARGE 100', 'CHARGE 50'],
      [50n],
    ],
    ['beyond how far it may grow', 120n, 1_000n, ['WRITE_OFF 30', 'CHARGE 100', 'CHARGE 50'], [30n]],
    ['beyond what the account has', 150n, 110n, ['WRITE_OFF 40', 'CHARGE 100', 'CHARGE 50'], [40n]],
  ]
  test.each(beyond)('%s', async (rule, most, credit, entries, lost) => {
    const principal = await fixture.customer(credit)
    const told: [ChargeOrder, bigint][] = []
    const charges = fixture.charges({ onWriteOff: (order, amount) => told.push([order, amount]) })
    const order = fixture.order(principal, rule.startsWith('exactly') ? 150n : 100n, most)
    const charge = await charges.open(order)
    const charged = await charge.capture(linesOf([100n, 50n]))
    expect(charged.usd).toBe(150n - (lost[0] ?? 0n))
    expect(await fixture.entriesOf(principal.account)).toEqual(entries)
    expect(told).toEqual(lost.map(amount => [order, amount]))
    expect(charges.writeOffs).toEqual({ charges: lost.length, microUsd: lost[0] ?? 0n })
  })

  test('write-offs of several charges are counted together', async () => {
    const charges = fixture.charges()
    for (const amount of [105n, 107n]) {
      const charge = await charges.open(fixture.order(await fixture.customer(100n), 100n))
      await charge.capture(linesOf([amount]))
    }
    expect(charges.writeOffs).toEqual({ charges: 2, microUsd: 12n })
  })

  test('with what its meter says, where it is settled; with nothing where it has none', async () => {
    const principal = await fixture.customer(1_000n)
    const metered = await fixture.charges().open(fixture.order(principal, 100n))
    metered.meter(() => linesOf([20n]))
    expect(await metered.settle()).toMatchObject({ usd: 20n })
    const without = await fixture.charges().open(fixture.order(principal, 100n))
    expect(await without.settle()).toMatchObject({ usd: 0n, availableMicroUsd: 980n })
  })

  test('free of charge where its request was charged before, by a process that died', async () => {
    const principal = await fixture.customer(1_000n)
    const order = fixture.order(principal, 100n)
    await mustCommit(fixture.store, hold(`first of ${order.request}`, 10n, principal.account))
    await mustCommit(fixture.store, capture(`first of ${order.request}`, [10n], order.request))
    const charge = await fixture.charges().open(order)
    const costs: object[] = []
    const beside = (cost: object) => {
      costs.push(cost)
      return []
    }
    expect(await charge.capture(linesOf([30n]), beside)).toEqual({ usd: 0n, staking: 0n, availableMicroUsd: 990n })
    expect(costs).toEqual([
      { usd: 30n, staking: 0n },
      { usd: 0n, staking: 0n },
    ])
    expect(await fixture.held(principal.account)).toEqual([])
  })

  test('and says so to those who wait for it, once', async () => {
    const charge = await fixture.charges().open(fixture.order(await fixture.customer(1_000n), 100n))
    let ends = 0
    charge.whenEnded(() => ends++)
    expect(ends).toBe(0)
    await charge.capture(linesOf([30n]))
    await charge.release()
    expect(ends).toBe(1)
    charge.whenEnded(() => ends++)
    expect(ends).toBe(2)
  })

  test('staking credit pays first, as far as the hold was taken from it', async () => {
    const principal = await fixture.wallet(1_000n, 60n)
    const funding = new Funding({ store: fixture.store, clock: fixture.clock, staking: fixture.staking })
    const one = await fixture.charges({ funding }).open(fixture.order(principal, 100n))
    expect(await one.capture(linesOf([50n]))).toEqual({ usd: 0n, staking: 50n, availableMicroUsd: 1_000n })
    const two = await fixture.charges({ funding }).open(fixture.order(principal, 100n))
    expect(await two.capture(linesOf([50n]))).toEqual({ usd: 40n, staking: 10n, availableMicroUsd: 960n })
    expect(printedCost({ usd: microUsd(40), staking: microUsd(10) })).toEqual({ usd: 0.00004, diem: 0.00001 })
  })
})

describe('what belongs to the end of a hold', () => {
  test('is committed with it, once what is charged is known', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n))
    await charge.capture(linesOf([30n]), async ({ usd }) => [used(`beside a charge of ${usd}`)])
    expect(await commitOps(fixture.store, used('beside a charge of 30'))).toMatchObject({ why: 'nonce_used' })
  })

  test('and is refused: nothing was delivered, so nothing is charged and the hold is free', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n))
    await mustCommit(fixture.store, used('taken'))
    const ended = charge.capture(linesOf([30n]), () => [used('taken')])
    await expect(ended).rejects.toBeInstanceOf(AlsoCommitRefused)
    await expect(ended).rejects.toMatchObject({ why: 'nonce_used', name: 'AlsoCommitRefused' })
    expect([await fixture.entriesOf(principal.account), await fixture.held(principal.account)]).toEqual([[], []])
  })

  test('and is refused where a stream was delivered: that is charged all the same', async () => {
    const principal = await fixture.customer(1_000n)
    const charge = await fixture.charges().open(fixture.order(principal, 100n))
    charge.meter(() => linesOf([30n]))
    await mustCommit(fixture.store, used('taken by another'))
    await expect(charge.settle(() => [used('taken by another')])).rejects.toMatchObject({ why: 'nonce_used' })
    expect([await fixture.entriesOf(principal.account), await fixture.held(principal.account)]).toEqual([
      ['CHARGE 30'],
      [],
    ])
  })

  test('and is refused beside the end of a hold whose request was charged before', async () => {
    const principal = await fixture.customer(1_000n)
    const order = fixture.order(principal, 100n)
    await mustCommit(fixture.store, hold(`before ${order.request}`, 10n, principal.account), used('taken before'))
    await mustCommit(fixture.store, capture(`before ${order.request}`, [10n], order.request))
    const charge = await fixture.charges().open(order)
    const ended = charge.capture(linesOf([30n]), () => [used('taken before')])
    await expect(ended).rejects.toMatchObject({ why: 'nonce_used' })
    expect(await fixture.held(principal.account)).toEqual([])
  })
})

describe('a paid call', () => {
  test('answers its value and what it was charged', async () => {
    const principal = await fixture.customer(1_000n)
    const answered = await withCharge(fixture.charges(), fixture.order(principal, 100n), async () => ({
      value: 'done',
      lines: linesOf([10n]),
      alsoCommit: () => [used('with the paid call')],
    }))
    expect(answered).toEqual({ value: 'done', charged: { usd: 10n, staking: 0n, availableMicroUsd: 990n } })
    expect(await commitOps(fixture.store, used('with the paid call'))).toMatchObject({ why: 'nonce_used' })
  })

  test('whose engine fails is charged nothing, and its hold is free', async () => {
    const principal = await fixture.customer(1_000n)
    const failed = withCharge(fixture.charges(), fixture.order(principal, 100n), () =>
      Promise.reject(new Error('no engine')),
    )
    await expect(failed).rejects.toThrow('no engine')
    expect([await fixture.entriesOf(principal.account), await fixture.held(principal.account)]).toEqual([[], []])
  })

  test('without the credit is refused before its engine is asked', async () => {
    let asked = 0
    const run = async () => {
      asked++
      return { value: null, lines: [] }
    }
    const refused = withCharge(fixture.charges(), fixture.order(await fixture.customer(99n), 100n), run)
    await expect(refused).rejects.toMatchObject({ name: 'InsufficientCredit', neededMicroUsd: 100n })
    expect(asked).toBe(0)
  })
})

describe('a paid stream', () => {
  async function begin(events: () => AsyncGenerator<number>, reader = new AbortController().signal) {
    const principal = await fixture.customer(1_000n)
    const seen = { left: 0, delivered: 0 }
    const { charge, events: settled } = await streamWithCharge(
      fixture.charges(),
      fixture.order(principal, 100n),
      reader,
      () => ({
        events: (async function* () {
          for await (const event of events()) {
            seen.delivered = event
            yield event
          }
        })(),
        owed: () => (seen.delivered ? linesOf([BigInt(seen.delivered)]) : []),
        leave: () => void seen.left++,
      }),
    )
    return { charge, events: settled, seen, entries: () => fixture.entriesOf(principal.account) }
  }
  async function* three() {
    yield 10
    yield 20
    yield 30
  }

  test('is charged what was delivered, once it has ended', async () => {
    const { events, entries, charge, seen } = await begin(three)
    const read: number[] = []
    for await (const event of events) {
      expect(await entries()).toEqual([])
      read.push(event)
    }
    expect([read, await entries(), charge.open, seen.left]).toEqual([[10, 20, 30], ['CHARGE 30'], false, 0])
  })

  test('that breaks is charged what was delivered before, and its error is passed on', async () => {
    const { events, entries } = await begin(async function* () {
      yield 10
      throw new Error('the engine died')
    })
    await events.next()
    await expect(events.next()).rejects.toThrow('the engine died')
    expect(await entries()).toEqual(['CHARGE 10'])
  })

  test('whose reader leaves ends its work, and is charged what was delivered', async () => {
    const { events, entries, seen } = await begin(three)
    await events.next()
    await events.next()
    expect(await events.return?.()).toEqual({ done: true, value: undefined })
    expect([seen.left, await entries()]).toEqual([1, ['CHARGE 20']])
  })

  test('whose reader’s leaving is told by a signal alone ends as well', async () => {
    const reader = new AbortController()
    const { events, entries, charge, seen } = await begin(three, reader.signal)
    await events.next()
    reader.abort()
    await expect.poll(() => charge.open).toBe(false)
    await charge.release()
    expect([seen.left, await entries()]).toEqual([1, ['CHARGE 10']])
  })

  test('whose reader has left before it begins is charged nothing', async () => {
    const { charge, entries, seen } = await begin(three, AbortSignal.abort())
    await expect.poll(() => charge.open).toBe(false)
    expect([await charge.release(), seen.left, await entries()]).toMatchObject([{ usd: 0n }, 1, []])
  })

  test('that has ended asks nothing more of its reader’s signal', async () => {
    const reader = new AbortController()
    const { events, seen } = await begin(three, reader.signal)
    for await (const _ of events);
    reader.abort()
    expect(seen.left).toBe(0)
  })
})
