/** A payee belongs to one ledger: others that are made later credit nothing that came to it before. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { balanceOf } from '#ledger/accounts/balances.ts'
import { ledgerCreatedAtMs } from '#ledger/store/store.ts'
import { birthMarginMs } from '#payments/bounds.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import type { TopUps, TopUpsOptions } from '#payments/top-ups/top-up.ts'
import { openTemporaryStore } from '../ledger/store/sqlite-folder.ts'
import type { OpenedStore } from '../ledger/store/store-contract.ts'
import { openSchemaStore } from '../postgres/postgres-store.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { startSvmChain } from './svm-chain.ts'
import { openSvmWorld, signSvm, svmPayer } from './svm-world.ts'
import { startTestChain } from './test-chain.ts'
import { openWorld, payer, send, withFacilitator } from './top-up-world.ts'

const five = 5_000_000n
const minuteMs = 60_000

/** A payment that was credited once, and how other ledger of the same payee are opened. */
interface Paid {
  account: string
  payment: unknown
  facilitator: Facilitator
  compose(parts: Partial<TopUpsOptions>): TopUps
  clock: { offsetMs: number }
  close(): Promise<void>
}

async function paidOnEvm(): Promise<Paid> {
  const chain = await startTestChain()
  const world = await openWorld(chain)
  const { account, payment } = await payer(world)
  expect((await send(world.topUps, payment)).status).toBe(200)
  const close = async () => {
    await world.dispose()
    await chain.stop()
  }
  const { facilitator, compose, clock } = world
  return { account: account.address.toLowerCase(), payment, facilitator, compose, clock, close }
}

async function paidOnSolana(): Promise<Paid> {
  const chain = await startSvmChain()
  const world = await openSvmWorld(chain)
  const account = await svmPayer(world)
  const payment = await signSvm(world, account)
  expect((await send(world.topUps, payment)).status).toBe(200)
  const close = async () => {
    await world.dispose()
    await chain.stop()
  }
  const facilitator = world.facilitator as unknown as Facilitator
  return { account: account.address, payment, facilitator, compose: world.compose, clock: world.clock, close }
}

/** Ledger as if they had been made so much later than now. */
async function ledgerMade(laterMs: number): Promise<OpenedStore> {
  const other = await openTemporaryStore()
  const made = new Date(Date.now() + laterMs).toISOString()
  await other.tamper(`UPDATE kysely_migration SET timestamp = '${made}'`)
  return other
}

describe.each([
  ['an EVM chain', paidOnEvm],
  ['Solana', paidOnSolana],
])('on %s', (_rail, pay) => {
  let paid: Paid
  beforeEach(async () => {
    paid = await pay()
  })
  afterEach(() => paid.close())

  async function askOthers(laterMs: number, parts: Partial<TopUpsOptions> = {}) {
    const other = await ledgerMade(laterMs)
    const topUps = paid.compose({ store: other.store, owner: randomUUID(), ...parts })
    const { status, body } = await send(topUps, paid.payment)
    const { postedMicroUsd } = await balanceOf(other.store, `wallet:${paid.account}`)
    await topUps.close().catch(() => undefined)
    await other.dispose()
    return { status, body, postedMicroUsd }
  }

  const refused = {
    status: 400,
    body: expect.objectContaining({ details: { reason: 'paid_before' } }),
    postedMicroUsd: 0n,
  }

  test.each([
    ['while it is valid', 0],
    ['when it has long expired', 60 * minuteMs],
  ])('a payment that came before the ledger was made is not credited in them, %s', async (_when, offsetMs) => {
    paid.clock.offsetMs = offsetMs
    expect(await askOthers(birthMarginMs + minuteMs)).toEqual(refused)
  })

  test('nor where a facilitator takes it for a new one', async () => {
    const facilitator = withFacilitator(paid.facilitator, {
      supported: () => ['eip155:8453', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'],
      verify: async () => ({ valid: true }) as never,
      settle: async () => ({ state: 'refused', reason: 'nonce_used' }),
    })
    expect(await askOthers(birthMarginMs + minuteMs, { facilitator })).toEqual(refused)
  })

  test('one of the minutes by which clocks may differ is credited', async () => {
    expect(await askOthers(birthMarginMs - minuteMs)).toMatchObject({ status: 200, postedMicroUsd: five })
  })
})

test('a ledger in a file says when it was made, which is when its first table was', async () => {
  const other = await openTemporaryStore()
  await other.tamper("INSERT INTO kysely_migration VALUES ('9999', '2999-01-01T00:00:00.000Z')")
  expect(Math.abs((await ledgerCreatedAtMs(other.store)) - Date.now())).toBeLessThan(5 * minuteMs)
  await other.dispose()
})

withPostgres('books in PostgreSQL', cluster => {
  test('say when they were made', async () => {
    const other = await openSchemaStore(cluster())
    expect(Math.abs((await ledgerCreatedAtMs(other.store)) - Date.now())).toBeLessThan(5 * minuteMs)
    await other.dispose()
  })
})
