import { describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { StakingCredits } from '#ledger/accounts/staking.ts'
import { Charges } from '#ledger/charges/charges.ts'
import { Funding } from '#ledger/charges/funding.ts'
import { recoverHolds } from '#ledger/charges/recover-holds.ts'
import { LedgerWatch, watchedStore } from '#ledger/ledger-watch.ts'
import type { Line, Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'
import type { OpenedStore } from '../../ledger/store/store-contract.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { TestClock } from '../open-service.ts'

const line = (amount: bigint): Line => ({
  sku: 'test',
  units: amount,
  unitPricePicoUsd: 1_000_000n,
  amount: microUsd(amount),
})

/** A customer with 1 USD, a key with a budget and a wallet with a stake of 300 millionths of a token. */
async function ledgerOf({ store }: OpenedStore) {
  const clock = new TestClock()
  const account = 'customer:watched'
  const atMs = clock.now()
  const budget = { period: 'month', usd: microUsd(900_000), staking: null } as const
  const key = { key: 'key', account, hash: 'hash', prefix: '', label: '', expiresAtMs: null, budget, atMs } as const
  const credit = { account, amount: microUsd(1_000_000), source: 'system:grant', ref: 'grant:watched', atMs } as const
  const ops: Op[] = [
    { op: 'account', account, kind: 'customer', atMs },
    { op: 'credit', ...credit },
    { op: 'key', ...key },
    { op: 'wallet', wallet: '0x00', account, atMs },
  ]
  expect((await store.commit([{ id: uuidV7(atMs), ops }]))[0]?.ok).toBe(true)
  const reader = { stakeOf: async () => 300n }
  const staking = new StakingCredits({ store, clock, reader, onFailure: error => expect(error).toBeNull() })
  const funding = new Funding({ store, clock, staking })
  const principal: Principal = { kind: 'key', account, keyId: 'key', plan: 'default', budget }
  const errors: string[] = []
  const log = { info() {}, warn() {}, error: (_: object, message: string) => void errors.push(message) }
  const watch = new LedgerWatch({ store, clock, log })
  const charges = new Charges({ store, clock, owner: 'test', funding })
  const order = (amount: bigint) => ({ request: uuidV7(clock.now()), principal, model: null, amount: microUsd(amount) })
  return { clock, principal, funding, watch, charges, order, errors }
}

const engines = (open: () => Promise<OpenedStore>) => {
  const onLedger = (name: string, run: (opened: OpenedStore) => Promise<void>) =>
    test(name, async () => {
      const opened = await open()
      try {
        await run(opened)
      } finally {
        await opened.dispose()
      }
    })

  onLedger('a sound ledger logs nothing, a tampered one is closed, and a repaired one reopens', async opened => {
    const { watch, charges, order, errors } = await ledgerOf(opened)
    await watch.lookOverAtStart()
    const held = await charges.open(order(500n))
    await (await charges.open(order(100n))).capture([line(40n), line(50n)])
    await watch.lookOver()
    expect([await watch.state(), errors]).toEqual([{ state: 'open', reason: '' }, []])
    await opened.tamper('UPDATE account SET held = held + 1')
    await watch.lookOver()
    expect(await watch.state()).toMatchObject({ state: 'read_only' })
    expect(errors.length).toBe(1)
    await expect(charges.open(order(1n))).rejects.toMatchObject({ kind: 'LEDGER_READ_ONLY' })
    expect((await watch.reopen()).state).toBe('read_only')
    await opened.tamper('UPDATE account SET held = held - 1')
    expect((await watch.reopen()).state).toBe('open')
    await held.release()
    await (await charges.open(order(1n))).release()
  })

  onLedger('a charge draws on staking credit, then on USD, and both are said', async opened => {
    const { funding, principal, charges, order } = await ledgerOf(opened)
    expect(await funding.spendable(principal)).toEqual({
      usd: 1_000_000n,
      staking: 300n,
      within: { usd: 900_000n, staking: 300n },
    })
    const charge = await charges.open({ ...order(400n), most: microUsd(800n) })
    expect(await charge.extend(microUsd(300n))).toBeNull()
    expect(await charge.capture([line(650n)])).toEqual({ usd: 350n, staking: 300n, availableMicroUsd: 999_650n })
    expect(await funding.spendable(principal)).toEqual({
      usd: 999_650n,
      staking: 0n,
      within: { usd: 899_650n, staking: 0n },
    })
  })

  onLedger('a rule of the tables that refuses a change is told', async opened => {
    const { charges, order, clock } = await ledgerOf(opened)
    const charge = await charges.open(order(1_000n))
    await opened.tamper('UPDATE account SET held = 1')
    const told: string[] = []
    const store = watchedStore(opened.store, reason => told.push(reason))
    const release: Op = { op: 'release', hold: charge.holdId }
    await expect(store.commit([{ id: uuidV7(clock.now()), ops: [release] }])).rejects.toThrow()
    expect(told).toEqual(['A ledger change was refused by a database constraint.'])
  })

  onLedger('a dead hold is charged at its checkpoint, and its end charges nothing more', async opened => {
    const { clock, charges, order, funding, principal } = await ledgerOf(opened)
    const charge = await charges.open(order(1_000n))
    charge.meter(() => [line(700n)])
    await charge.checkpoint()
    clock.pass(30_001)
    expect(await recoverHolds(opened.store, clock)).toBe(1)
    expect(await funding.spendable(principal)).toMatchObject({ usd: 999_600n, staking: 0n })
    expect(await charge.capture([line(700n)])).toMatchObject({ usd: 400n, staking: 300n })
    expect(await funding.spendable(principal)).toMatchObject({ usd: 999_600n, staking: 0n })
  })
}

describe('on SQLite', () => engines(openTemporaryStore))
withPostgres('on PostgreSQL', cluster => engines(() => openSchemaStore(cluster())))
