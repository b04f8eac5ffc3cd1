/** A cached balance is never older than the last unit that the store acknowledged. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { balanceOf } from '#ledger/accounts/balances.ts'
import { balanceKnownForMs } from '#ledger/bounds.ts'
import { LearntBalances } from '#ledger/store/sqlite/writer.ts'
import type { Balance } from '#ledger/store/store.ts'
import { account, capture, grant, hold, unit } from './sample-ops.ts'
import { openTemporaryStore } from './sqlite-folder.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => vi.useRealTimers())

const balance = (posted: number): Balance => ({ account: 'ada', posted: microUsd(posted), held: microUsd(0) })
const applied = (of: Balance, again = false) => ({ ok: true, again, balances: [of] }) as const

test('an outcome says what an account has', () => {
  const balances = new LearntBalances()
  expect(balances.get('ada')).toBeUndefined()
  balances.learn(applied(balance(7)))
  expect(balances.get('ada')).toEqual(balance(7))
})

test('the first outcome of a unit that came again is older than what is known', () => {
  const balances = new LearntBalances()
  balances.learn(applied(balance(7)))
  balances.learn(applied(balance(3), true))
  expect(balances.get('ada')).toEqual(balance(7))
})

test('what was read before an outcome came is not kept', async () => {
  const balances = new LearntBalances()
  const late = Promise.withResolvers<Balance>()
  const read = balances.read(() => late.promise)
  balances.learn(applied(balance(7)))
  late.resolve(balance(3))
  expect(await read).toEqual(balance(3))
  expect(balances.get('ada')).toEqual(balance(7))
})

test('a balance that nothing has touched for a while is read again', async () => {
  const { store, tamper, dispose } = await openTemporaryStore()
  try {
    await store.commit([unit(account(), grant(100n))])
    tamper('UPDATE account SET posted = 60')
    expect(await balanceOf(store, 'ada')).toMatchObject({ postedMicroUsd: 100n })
    vi.advanceTimersByTime(balanceKnownForMs + 1)
    expect(await balanceOf(store, 'ada')).toMatchObject({ postedMicroUsd: 60n })
  } finally {
    await dispose()
  }
})

test('a read after an acknowledgement sees its unit', async () => {
  const { store, dispose } = await openTemporaryStore()
  try {
    await store.commit([unit(account(), grant(100n))])
    await store.commit([unit(hold('h1', 60n))])
    expect(await balanceOf(store, 'ada')).toMatchObject({ heldMicroUsd: 60n, availableMicroUsd: 40n })
    await store.commit([unit(capture('h1', [25n], 'r1'))])
    expect(await balanceOf(store, 'ada')).toMatchObject({ heldMicroUsd: 0n, availableMicroUsd: 75n })
  } finally {
    await dispose()
  }
})
