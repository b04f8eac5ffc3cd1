/** The balances that operators see, from the ledger itself. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { hasAccount, listBalances } from '#ledger/accounts/balances.ts'
import { type AuditReader, sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import { Funding } from '#ledger/charges/funding.ts'
import { type ChargeFixture, openChargeFixture } from './charge-fixture.ts'

let fixture: ChargeFixture
let reader: AuditReader | null = null
beforeEach(async () => {
  fixture = await openChargeFixture()
})
afterEach(async () => {
  await reader?.close()
  reader = null
  await fixture.dispose()
})

const read = (): AuditReader => {
  reader = sqliteAuditReader(fixture.path)
  return reader
}

async function listed(account?: string, nowMs = fixture.clock.now()) {
  const balances = []
  for await (const each of listBalances(read(), nowMs, account)) balances.push(each)
  return balances
}

test('all accounts are listed by their ids, with what is held of each and what is left', async () => {
  const [one, other] = [await fixture.customer(100n), await fixture.customer(0n)]
  const { account } = await fixture.wallet(7n, 0n)
  await fixture.charges().open(fixture.order(one, 30n))
  expect((await listed()).filter(({ kind }) => kind !== 'system')).toEqual([
    { account: one.account, kind: 'customer', posted: 100n, held: 30n, available: 70n, staking: null },
    { account: other.account, kind: 'customer', posted: 0n, held: 0n, available: 0n, staking: null },
    { account, kind: 'wallet', posted: 7n, held: 0n, available: 7n, staking: null },
  ])
})

test('one is listed alone, and none where there is none of that id', async () => {
  const one = await fixture.customer(100n)
  await fixture.customer(50n)
  expect((await listed(one.account)).map(({ account }) => account)).toEqual([one.account])
  expect(await listed('nobody')).toEqual([])
  expect([await hasAccount(read(), one.account), await hasAccount(read(), 'nobody')]).toEqual([true, false])
})

describe('staking credit', () => {
  /** Of 50: 20 spent and 12 held. */
  async function used() {
    const principal = await fixture.wallet(0n, 50n)
    const { store, clock, staking } = fixture
    const charges = fixture.charges({ funding: new Funding({ store, clock, staking }) })
    const line = { sku: 'test', units: 20n, unitPricePicoUsd: 1_000_000n, amount: microUsd(20) }
    await (await charges.open(fixture.order(principal, 30n))).capture([line])
    await charges.open(fixture.order(principal, 12n))
    return principal.account
  }
  const stakingOf = async (account: string, nowMs?: number) => (await listed(account, nowMs))[0]?.staking

  test('is that of the day that was asked for, with what was spent and held of it', async () => {
    const account = await used()
    const dayMs = 24 * 60 * 60 * 1_000
    const morning = fixture.clock.now() - (fixture.clock.now() % dayMs)
    const today = { granted: 50n, spent: 20n, held: 12n, available: 18n }
    expect(await stakingOf(account, morning)).toEqual(today)
    expect(await stakingOf(account, morning + dayMs - 1)).toEqual(today)
    expect(await stakingOf(account, morning - 1)).toBeNull()
    expect(await stakingOf(account, morning + dayMs)).toBeNull()
  })

  test('of which more was used than is available now leaves nothing', async () => {
    const account = await used()
    fixture.tamper('UPDATE staking_credit SET granted_usd = 31')
    expect(await stakingOf(account)).toEqual({ granted: 31n, spent: 20n, held: 12n, available: 0n })
  })
})
