import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { audit } from '#ledger/audit/audit.ts'
import type { Charge } from '#ledger/charges/charge.ts'
import { Charges } from '#ledger/charges/charges.ts'
import { Funding } from '#ledger/charges/funding.ts'
import { recoverHolds, recoverHoldsAtStart } from '#ledger/charges/recover-holds.ts'
import type { Outcome, Store } from '#ledger/store/store.ts'
import type { Line, Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { type ChatFixture, type Customer, openFixture, prompt } from '../chat-fixture.ts'
import { manyWords } from '../chat-script.ts'
import { TestClock } from '../open-service.ts'

let folder: string
let clock: TestClock
let fixture: ChatFixture
beforeEach(async () => {
  folder = temporaryFolder('kill')
  clock = new TestClock()
  fixture = await openFixture({ folder, clock })
})
afterEach(async () => {
  vi.useRealTimers()
  const report = await audit(fixture.service.database)
  expect([report.findings, report.driftMicroUsd]).toEqual([[], 0n])
  await fixture.service.close()
})

/** As a kill leaves it: the store ends between two commits, nothing else is told. Then the folder is opened again. */
async function killAndRestart(): Promise<void> {
  await fixture.service.store.close()
  clock.pass(1_000)
  fixture = await openFixture({ folder, clock })
}

async function readEvents(customer: Customer, count: number): Promise<void> {
  const answer = await fixture.chat(customer, { stream: true })
  const reader = answer.body?.getReader()
  for (let read = 0; read < count; read++) await reader?.read()
}

const owedOf = async (store: Store) =>
  (await store.read.selectFrom('hold').select('owed').execute()).map(row => row.owed)

describe('a kill within a call', () => {
  test('before anything was written down: the hold is freed, and the loss is that of the service', async () => {
    const customer = await fixture.customer(1)
    fixture.engine.play([...manyWords(100), 'silence'])
    await readEvents(customer, 100)
    expect(await owedOf(fixture.service.store)).toEqual([null])
    await killAndRestart()
    expect(await fixture.openHolds()).toBe(0)
    expect((await fixture.ledger(customer.account)).charged).toBe(0n)
  })

  test('after 256 tokens: they were written down, and are charged at the next start', async () => {
    const customer = await fixture.customer(1)
    fixture.engine.play([...manyWords(400), 'silence'])
    await readEvents(customer, 400)
    await expect.poll(() => owedOf(fixture.service.store)).not.toEqual([null])
    await killAndRestart()
    expect(await fixture.openHolds()).toBe(0)
    const { charged, skus } = await fixture.ledger(customer.account)
    expect(charged).toBeGreaterThanOrEqual(prompt + 2_500n)
    expect(charged).toBeLessThanOrEqual(prompt + 4_000n)
    expect(skus).toEqual(['chat.input.estimated', 'chat.output.estimated'])
  })

  test('two seconds into a slow answer: what had come was written down, and is charged', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const customer = await fixture.customer(1)
    fixture.engine.play([...manyWords(20), 'silence'])
    await readEvents(customer, 20)
    clock.pass(1_999)
    await vi.advanceTimersByTimeAsync(250)
    expect(await owedOf(fixture.service.store)).toEqual([null])
    clock.pass(1)
    await vi.advanceTimersByTimeAsync(250)
    vi.useRealTimers()
    await expect.poll(() => owedOf(fixture.service.store)).not.toEqual([null])
    await killAndRestart()
    expect((await fixture.ledger(customer.account)).charged).toBe(prompt + 200n)
  })

  test('after the charge and before the answer: it is charged, once', async () => {
    const customer = await fixture.customer(1)
    fixture.engine.play(manyWords(5))
    await (await fixture.chat(customer)).text()
    await killAndRestart()
    expect((await fixture.ledger(customer.account)).charged).toBe(prompt + 50n)
  })
})

describe('many calls at once', () => {
  const opened: Charge[] = []
  // The charges' own ticks would come between those that are counted here.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(async () => {
    vi.useRealTimers()
    await Promise.all(opened.splice(0).map(charge => charge.release()))
  })

  async function openCharges(count: number, owed: () => Line[]): Promise<Charges> {
    const { account } = await fixture.customer(1)
    const { store } = fixture.service
    const { id } = await store.read.selectFrom('api_key').select('id').executeTakeFirstOrThrow()
    const principal = { kind: 'key', account, keyId: id, plan: 'default' } as const
    const charges = new Charges({ store, clock, owner: 'test', funding: new Funding({ store, clock }) })
    while (opened.length < count) {
      const order = { request: uuidV7(clock.now()), principal, model: null, amount: microUsd(100) }
      const charge = await charges.open(order)
      charge.meter(owed)
      opened.push(charge)
    }
    return charges
  }

  const written = async () => (await owedOf(fixture.service.store)).filter(owed => owed !== null).length
  const leases = async () =>
    (await fixture.service.store.read.selectFrom('hold').select('lease_until_ms').execute()).map(
      row => row.lease_until_ms,
    )

  test('each has its turn to be written down, some at a time', async () => {
    const charges = await openCharges(70, () => [lineOf(5n)])
    clock.pass(2_000)
    const counts: number[] = []
    for (let tick = 0; tick < 3; tick++) {
      await charges.renew()
      counts.push(await written())
    }
    expect(counts).toEqual([32, 64, 70])
  })

  test('those that were not written down for long come before those that just were', async () => {
    let owed = 5n
    const charges = await openCharges(296, () => [lineOf(owed)])
    clock.pass(2_000)
    for (let tick = 0; tick < 8; tick++) {
      await charges.renew()
      clock.pass(250)
    }
    expect(await written()).toBe(256)
    // The first ones are due again.
    owed = 6n
    await charges.renew()
    expect(await written()).toBe(288)
  })

  test.each([
    ['a second', 1_000, 128],
    ['ten seconds', 10_000, 256],
  ])('a round that is %s late has the turns of those that it replaces, up to 256', async (_late, ms, turns) => {
    const charges = await openCharges(296, () => [lineOf(5n)])
    clock.pass(2_000 - 250)
    await charges.renew()
    clock.pass(ms)
    await charges.renew()
    expect(await written()).toBe(turns)
  })

  test('no lease lapses, whichever call had a turn', async () => {
    const charges = await openCharges(70, () => [])
    const until = clock.now() + 60_000
    while (clock.now() < until) {
      clock.pass(5_000)
      await charges.renew()
      for (const lease of await leases()) expect(lease).toBeGreaterThan(clock.now())
    }
  })
})

const lineOf = (amount: bigint): Line => ({
  sku: 'chat.output.estimated',
  units: amount,
  unitPricePicoUsd: 1_000_000n,
  amount: microUsd(amount),
})

describe('ends of dead holds', () => {
  async function commit(...ops: Op[]): Promise<Outcome[]> {
    const outcomes = await fixture.service.store.commit(ops.map(op => ({ id: uuidV7(clock.now()), ops: [op] })))
    expect(outcomes.filter(outcome => !outcome.ok)).toEqual([])
    return outcomes
  }

  /** A hold of a process that died, with what it wrote down. */
  async function dead(account: string, owed: bigint | null, request = uuidV7(clock.now())): Promise<string> {
    const hold = uuidV7(clock.now())
    const lease = { owner: 'a dead process', untilMs: clock.now() + 30_000 }
    await commit({ op: 'hold', hold, account, amount: microUsd(1_000), lease, atMs: clock.now() })
    if (owed !== null) {
      await commit({ op: 'renew', hold, lease, owed: { request, model: 'scripted', lines: [lineOf(owed)] } })
    }
    return request
  }

  test.each<[rule: string, owed: bigint | null, charged: bigint, writtenOff: bigint]>([
    ['nothing written down: freed', null, 0n, 0n],
    ['a checkpoint within the hold: charged at it', 700n, 700n, 0n],
    ['a checkpoint beyond the hold: the rest is written off', 1_300n, 1_000n, 300n],
  ])('%s', async (_rule, owed, charged, writtenOff) => {
    const { account } = await fixture.customer(1)
    await dead(account, owed)
    expect(await recoverHolds(fixture.service.store, clock)).toBe(0)
    clock.pass(30_001)
    expect(await recoverHolds(fixture.service.store, clock)).toBe(1)
    expect(await fixture.ledger(account)).toMatchObject({ charged, writtenOff })
    expect(await fixture.openHolds()).toBe(0)
  })

  test('a request that was charged under another hold owes nothing under this one', async () => {
    const { account } = await fixture.customer(1)
    const request = await dead(account, 700n)
    await dead(account, 900n, request)
    clock.pass(30_001)
    expect(await recoverHolds(fixture.service.store, clock)).toBe(2)
    expect((await fixture.ledger(account)).charged).toBe(700n)
    expect(await fixture.openHolds()).toBe(0)
  })

  test('a start ends them together, and one that owes nothing any more keeps none of the others', async () => {
    const { account } = await fixture.customer(1)
    const request = await dead(account, 700n)
    await dead(account, 900n, request)
    await dead(account, 30n)
    await dead(account, null)
    expect(await recoverHoldsAtStart(fixture.service.store, clock, 'the next process')).toBe(4)
    expect((await fixture.ledger(account)).charged).toBe(730n)
    expect(await fixture.openHolds()).toBe(0)
  })

  test('a lease that was renewed between the look and the commit is left alone', async () => {
    const { account } = await fixture.customer(1)
    await dead(account, 700n)
    clock.pass(30_001)
    const { store } = fixture.service
    const renewing: Store = {
      ...store,
      async commit(units) {
        const { id } = await store.read.selectFrom('hold').select('id').executeTakeFirstOrThrow()
        const lease = { owner: 'a dead process', untilMs: clock.now() + 30_000 }
        await commit({ op: 'renew', hold: id, lease })
        return store.commit(units)
      },
    }
    expect(await recoverHolds(renewing, clock)).toBe(0)
    expect(await fixture.openHolds()).toBe(1)
    clock.pass(30_001)
    await recoverHolds(store, clock)
  })
})
