/** What the service learns about its own store: a wrong clock, and results that a sound ledger never returns. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ClockWatch, watchedLedger, watchedStore } from '#ledger/ledger-watch.ts'
import { LearntBalances } from '#ledger/store/sqlite/writer.ts'
import { type Store, StoreError } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { capture, hold, mustCommit, ledger as openLedger, release, unit } from '../../ledger/store/sample-ops.ts'
import { type ChargeFixture, openChargeFixture } from './charge-fixture.ts'

let fixture: ChargeFixture
beforeAll(async () => {
  fixture = await openChargeFixture()
})
afterAll(() => fixture.dispose())

describe('a clock that has gone off', () => {
  test('is told once, and once more when it is back', async () => {
    const told: string[] = []
    const tell = (kind: string) => (_: object, message: string) => void told.push(`${kind}: ${message}`)
    let differenceMs = 0
    const store: Store = { ...fixture.store, clockDifferenceMs: async () => differenceMs }
    const watch = new ClockWatch({ store, log: { info: tell('info'), warn: tell('warn'), error: tell('error') } })
    await watch.look()
    expect(told).toEqual([])
    differenceMs = 5_001
    await watch.look()
    await watch.look()
    expect(told).toEqual([expect.stringMatching(/^error: This clock differs from the database’s/)])
    differenceMs = 5_000
    await watch.look()
    await watch.look()
    expect(told.slice(1)).toEqual([expect.stringMatching(/^info: This clock agrees with the database’s again/)])
  })
})

describe('a watched store', () => {
  const watched = (store: Store) => {
    const told: [string, object][] = []
    return { told, store: watchedStore(store, (reason, facts) => told.push([reason, facts])) }
  }

  test('behaves like the store for its users', async () => {
    const asked: unknown[] = []
    const real: Store = {
      ...fixture.store,
      soleOwner: false,
      clockDifferenceMs: async () => 7,
      balances: new LearntBalances(),
      endHoldsOfOthers: async (...order) => asked.push(...order),
      prune: async (slice, rows) => asked.push(slice, rows),
      close: async () => void asked.push('closed'),
    }
    const { store, told } = watched(real)
    expect([store.read, store.soleOwner, await store.clockDifferenceMs?.()]).toEqual([fixture.store.read, false, 7])
    expect(store.balances).toBe(real.balances)
    expect(await store.endHoldsOfOthers?.('me', 5)).toBe(2)
    const slice = { table: 'unit', beforeId: 'x' } as const
    expect(await store.prune(slice, 3)).toBe(4)
    await store.close()
    expect([asked, told]).toEqual([['me', 5, slice, 3, 'closed'], []])
    const { clockDifferenceMs: _, ...alone } = real
    expect(await watched(alone).store.clockDifferenceMs?.()).toBe(0)
  })

  test('tells of a charge beyond its hold, by the unit that it stood in, and of no other refusal', async () => {
    const { store, told } = watched(fixture.store)
    const principal = await fixture.customer(100n)
    const small = `small of ${principal.account}`
    await mustCommit(fixture.store, hold(small, 5n, principal.account))
    const units = [
      { id: uuidV7(1), ops: [release('nobody’s')] },
      { id: uuidV7(2), ops: [capture(small, [6n])] },
    ]
    expect(await store.commit(units)).toMatchObject([{ why: 'no_hold' }, { why: 'over_hold' }])
    expect(told).toEqual([['A charge was larger than its hold.', { unit: units[1]?.id }]])
  })

  test('tells of a rule that refused a change, and of no other failure; both are passed on', async () => {
    const failure = (error: Error) => watched({ ...fixture.store, commit: () => Promise.reject(error) })
    const broken = new StoreError('broken_rule', 'A rule refused.')
    const full = new StoreError('unit_failed', 'Not now.')
    const other = new Error('something else')
    for (const [error, count] of [
      [broken, 1],
      [full, 0],
      [other, 0],
    ] as const) {
      const { store, told } = failure(error)
      await expect(store.commit([])).rejects.toBe(error)
      expect(told).toEqual(
        count === 0 ? [] : [['A ledger change was refused by a database constraint.', { err: error }]],
      )
    }
  })
})

describe('watched ledger', () => {
  const refused = new StoreError('broken_rule', 'A rule refused.')

  /** A rule of the tables refuses every release; what else the store does is up to the test. */
  const watched = (parts: Partial<Store> = {}) => {
    const told: [string, object][] = []
    const tell = (facts: object, message: string) => void told.push([message, facts])
    const store: Store = {
      ...fixture.store,
      commit: async units => {
        if (units.some(({ ops }) => ops.some(({ op }) => op === 'release'))) throw refused
        return fixture.store.commit(units)
      },
      ...parts,
    }
    const log = { info: tell, warn: tell, error: tell }
    return { ...watchedLedger({ store, clock: fixture.clock, log }), told }
  }

  test('become read-only once a rule has refused a change, and the log says why', async () => {
    const { store, ledger, told } = watched()
    await expect(store.commit([unit(release('any'))])).rejects.toBe(refused)
    const reason = 'A ledger change was refused by a database constraint.'
    await expect.poll(() => ledger.state()).toEqual({ state: 'read_only', reason })
    expect(told).toEqual([[expect.stringMatching(/^The ledger does not add up/), { err: refused, reason }]])
    await mustCommit(fixture.store, openLedger('open'))
  })

  test('that cannot be made read-only are told as well', async () => {
    const away = new Error('The disk is away.')
    const selectFrom = () => {
      throw away
    }
    const { store, told } = watched({ read: { ...fixture.store.read, selectFrom } as unknown as Store['read'] })
    await expect(store.commit([unit(release('any'))])).rejects.toBe(refused)
    await expect.poll(() => told).toEqual([['The ledger could not be made read-only.', { err: away }]])
  })
})
