/** How far a hold reaches, and what is written down of it, when the day or a commit goes wrong. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { entriesOf } from '#ledger/accounts/balances.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { StakingCredits } from '#ledger/accounts/staking.ts'
import { Charges } from '#ledger/charges/charges.ts'
import { Funding } from '#ledger/charges/funding.ts'
import type { Store } from '#ledger/store/store.ts'
import { readOwed } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import {
  account,
  budget,
  capture,
  grant,
  hold,
  key,
  lease,
  linesOf,
  mustCommit,
  refund,
  staked,
} from '../../ledger/store/sample-ops.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'
import { TestClock } from '../open-service.ts'

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
let store: Store
let clock: TestClock
let charges: Charges | null = null
beforeEach(async () => {
  opened = await openTemporaryStore()
  store = opened.store
  clock = new TestClock(Date.parse('2026-11-21T23:59:50Z'))
})
afterEach(async () => {
  await charges?.drain()
  await opened.dispose()
})

const open = (of: Store = store, stakeMicroTokens = 0n) => {
  const reader = { stakeOf: async () => stakeMicroTokens }
  const staking = new StakingCredits({ store, clock, reader, onFailure: () => undefined })
  charges = new Charges({ store: of, clock, owner: 'one', funding: new Funding({ store, clock, staking }) })
  return charges
}

const order = (principal: Principal, amount: number, most: number) => ({
  request: uuidV7(clock.now()),
  principal,
  model: null,
  amount: microUsd(amount),
  most: microUsd(most),
})

const writtenOff = async () =>
  (await store.read.selectFrom('entry').select('amount').where('kind', '=', 'WRITE_OFF').execute()).map(
    ({ amount }) => amount,
  )

test('a call over midnight is paid with what is left of its own day, and with the account’s credit', async () => {
  const wallet = `0x${'1'.repeat(40)}`
  const principal: Principal = { kind: 'wallet', account: 'ada', wallet, plan: 'default', isNew: false }
  await mustCommit(store, account(), { op: 'wallet', wallet, account: 'ada', atMs: 1 }, grant(5n))
  const charge = await open(store, 10n).open(order(principal, 10, 100))
  clock.pass(20_000)
  expect(await charge.extend(microUsd(8))).toBeNull()
  expect(charge.heldMicroUsd).toBe(15n)
  await charge.capture(linesOf([18n]))
  expect(await writtenOff()).toEqual([3n])
})

test('a call over midnight is paid within its own day of the key’s budget', async () => {
  const of = { kind: 'key', account: 'ada', keyId: 'k', plan: 'default' } as const
  const principal: Principal = { ...of, budget: budget(12n) }
  await mustCommit(store, account(), grant(50n), key('k', 'hash', 'ada', budget(12n)))
  const charge = await open().open(order(principal, 10, 100))
  clock.pass(20_000)
  expect(await charge.extend(microUsd(8))).toBeNull()
  expect(charge.heldMicroUsd).toBe(12n)
  await charge.capture(linesOf([12n]))
  expect(await writtenOff()).toEqual([])
})

test('what others pay of a charge is shown to its customer as money back, never as a top-up', async () => {
  await mustCommit(store, account(), grant(10n), hold('h', 9n, 'ada', lease(), staked(5n)))
  await mustCommit(store, capture('h', [8n, 4n], 'r', { writeOff: 3n }), refund('r'))
  const shown = (await entriesOf(store, 'ada', 10, 0)).map(({ type, amountMicroUsd }) => [type, amountMicroUsd])
  expect(shown.reverse()).toEqual([
    ['TOP_UP', 10n],
    ['REFUND', 3n],
    ['REFUND', 5n],
    ['CHARGE', -8n],
    ['CHARGE', -4n],
    ['REFUND', 9n],
    ['CHARGE', -5n],
  ])
})

test('a checkpoint whose commit failed is written with the next one, though nothing more is owed by then', async () => {
  let fails = false
  const failing: Store = {
    ...store,
    commit: units => (fails ? Promise.reject(new Error('the disk is full')) : store.commit(units)),
  }
  const wallet = `0x${'1'.repeat(40)}`
  const principal: Principal = { kind: 'wallet', account: 'ada', wallet, plan: 'default', isNew: false }
  await mustCommit(store, account(), { op: 'wallet', wallet, account: 'ada', atMs: 1 }, grant(50n))
  const own = open(failing)
  const charge = await own.open(order(principal, 10, 10))
  charge.meter(() => linesOf([7n]))
  const owed = async () => (await store.read.selectFrom('hold').select('owed').executeTakeFirstOrThrow()).owed
  fails = true
  await charge.checkpoint()
  clock.pass(4_000)
  await own.renew()
  expect(await owed()).toBeNull()
  fails = false
  clock.pass(4_000)
  await own.renew()
  expect(readOwed((await owed()) ?? '').lines).toEqual(linesOf([7n]))
  await charge.settle()
})
