import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { type ChatFixture, type Customer, eventsOf, openFixture } from '../chat-fixture.ts'
import { type Beat, used, words } from '../chat-script.ts'
import { adminToken, type OpenServiceOptions, TestClock } from '../open-service.ts'

const answerOfTwo: Beat[] = [...words('one', ' two'), { usage: used(20, 2) }]

let folder: string
let clock: TestClock
let fixture: ChatFixture
beforeEach(async () => {
  folder = temporaryFolder('read-only')
  clock = new TestClock()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  await open()
})
afterEach(async () => {
  vi.useRealTimers()
  await fixture.service.close()
})

async function open(options: OpenServiceOptions = {}): Promise<void> {
  fixture = await openFixture({ folder, clock, ...options })
  fixture.engine.play(answerOfTwo)
}

async function restart(): Promise<void> {
  await fixture.service.service.close()
  await fixture.service.store.close()
  await open()
}

/** Another program writes directly into the ledger's file. */
function tamper(sql: string): void {
  const database = new DatabaseSync(fixture.service.database)
  database.exec(sql)
  database.close()
}

const look = () => vi.advanceTimersByTimeAsync(30_000)

const ready = async () => {
  const answer = await fixture.service.request('/readyz')
  return { status: answer.status, body: await answer.json() }
}

const isReadOnly = { status: 503, body: { status: 'not ready', ledger: 'read_only', reason: expect.any(String) } }

const admin = async (command: string) => {
  const headers = { authorization: `Bearer ${adminToken}` }
  const answer = await fixture.service.request(`/admin/v1/${command}`, { method: 'POST', headers, body: '{}' })
  return { status: answer.status, body: await answer.json() }
}

/** A customer with an entry of each kind that a call makes. */
async function knownCustomer(): Promise<Customer> {
  const customer = await fixture.customer(1)
  await (await fixture.chat(customer)).text()
  return customer
}

describe('a ledger that does not add up takes no new debits', () => {
  const tampered: [rule: string, sql: string][] = [
    ['a balance that was raised', 'UPDATE account SET posted = posted + 1000000'],
    ['credit that is held without a hold', 'UPDATE account SET held = held + 1'],
    ['a hold that is not counted', 'UPDATE account SET held = 0'],
    [
      'an entry that was changed',
      'DROP TRIGGER entry_is_never_updated; UPDATE entry SET amount = amount + 1 WHERE line = 1',
    ],
    ['an entry that was taken out', "DROP TRIGGER entry_is_never_deleted; DELETE FROM entry WHERE kind = 'GRANT'"],
    [
      'a balance that was raised together with its last entry',
      'DROP TRIGGER entry_is_never_updated; UPDATE account SET posted = posted + 5;' +
        'UPDATE entry SET posted_after = posted_after + 5 WHERE seq = (SELECT max(seq) FROM entry)',
    ],
  ]
  test.each(tampered)('%s, at the next look', async (_rule, sql) => {
    const customer = await knownCustomer()
    const { account } = customer
    const lease = { owner: 'another process', untilMs: clock.now() + 600_000 }
    const hold = {
      op: 'hold',
      hold: uuidV7(clock.now()),
      account,
      amount: microUsd(5),
      lease,
      atMs: clock.now(),
    } as const
    await fixture.service.store.commit([{ id: uuidV7(clock.now()), ops: [hold] }])
    expect((await ready()).status).toBe(200)
    tamper(sql)
    await look()
    await expect.poll(ready).toEqual(isReadOnly)
    const refused = await fixture.chat(customer)
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { error: expect.stringContaining('nothing was charged') },
    ])
  })

  // A start frees what the last process held, so no hold of it can be miscounted.
  const lasting = tampered.filter(([rule]) => rule !== 'a hold that is not counted')
  test.each(lasting)('%s, before the next start serves any caller', async (_rule, sql) => {
    const customer = await knownCustomer()
    tamper(sql)
    await restart()
    expect(await ready()).toEqual(isReadOnly)
    expect((await fixture.chat(customer)).status).toBe(503)
  })

  test('a sound ledger stays open, however often it is checked', async () => {
    const customer = await knownCustomer()
    for (let looks = 0; looks < 5; looks++) {
      await (await fixture.chat(customer)).text()
      await look()
    }
    expect(await ready()).toEqual({ status: 200, body: { status: 'ready', ledger: 'open' } })
    expect(fixture.service.logged).toEqual([])
  })

  test('a change that a rule of the tables refuses', async () => {
    const wait = Promise.withResolvers<void>()
    fixture.engine.play([{ until: wait.promise }, ...answerOfTwo])
    const customer = await fixture.customer(1)
    const answer = fixture.chat(customer)
    await expect.poll(() => fixture.openHolds()).toBe(1)
    // What is held is made less than the hold, so that its end would leave less than nothing.
    tamper('UPDATE account SET held = 1')
    wait.resolve()
    expect((await answer).status).toBe(500)
    await expect.poll(ready).toEqual(isReadOnly)
  })

  test('a charge that the ledger finds larger than its hold', async () => {
    await fixture.service.service.close()
    await fixture.service.store.close()
    const shrinking = (real: Store): Store => ({
      ...real,
      commit: units =>
        real.commit(
          units.map(unit => ({
            ...unit,
            ops: unit.ops.map(op => (op.op === 'hold' ? { ...op, amount: microUsd(op.amount / 100n) } : op)),
          })),
        ),
    })
    await open({ storeBefore: shrinking })
    expect((await fixture.chat(await fixture.customer(1), { max_tokens: 10 })).status).toBe(500)
    await expect.poll(ready).toEqual(isReadOnly)
  })
})

describe('while the ledger is read-only', () => {
  async function close(): Promise<void> {
    const set = { op: 'ledger', state: 'read_only', reason: 'By hand.', atMs: clock.now() } as const
    await fixture.service.store.commit([{ id: uuidV7(clock.now()), ops: [set] }])
  }

  test('what has begun ends and is charged, credits come in, and the process is well', async () => {
    const wait = Promise.withResolvers<void>()
    fixture.engine.play([{ until: wait.promise }, ...answerOfTwo])
    const customer = await fixture.customer(1)
    const answer = fixture.chat(customer)
    await expect.poll(() => fixture.openHolds()).toBe(1)
    await close()
    wait.resolve()
    expect((await answer).status).toBe(200)
    expect((await fixture.ledger(customer.account)).charged).toBe(40n)
    await fixture.customer(2)
    const health = await fixture.service.request('/healthz')
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok', ledger: 'read_only' }])
  })

  test('a stream that would have to extend ends, and says why', async () => {
    fixture.engine.play([...words(...Array.from({ length: 2_000 }, () => ' word')), 'silence'])
    const customer = await fixture.customer(0.02)
    const answer = await fixture.chat(customer, { stream: true })
    await close()
    const events = eventsOf(await answer.text())
    expect(JSON.parse(events.at(-2) ?? '').error.message).toContain('ledger of this service is checked')
    expect((await fixture.ledger(customer.account)).charged).toBeGreaterThan(3_000n)
  })

  test('they open again once they add up, by the operator alone', async () => {
    const customer = await knownCustomer()
    tamper('UPDATE account SET posted = posted + 7')
    await look()
    await expect.poll(ready).toEqual(isReadOnly)
    expect(await admin('ledger/reopen')).toEqual({
      status: 400,
      body: { error: 'The ledger stays read-only: the balance of an account differs from the sum of its entries.' },
    })
    tamper('UPDATE account SET posted = posted - 7')
    await look()
    expect(await ready()).toEqual(isReadOnly)
    await restart()
    expect(await ready()).toEqual(isReadOnly)
    expect(await admin('ledger/reopen')).toEqual({ status: 200, body: { state: 'open' } })
    expect((await ready()).status).toBe(200)
    expect((await fixture.chat(customer)).status).toBe(200)
  })

  test('the operator is told the state, and what was written off', async () => {
    fixture.engine.play([...words('one'), { usage: used(20, 1_000) }])
    const customer = await fixture.customer(1)
    await (await fixture.chat(customer, { max_tokens: 10 })).text()
    const { writtenOff } = await fixture.ledger(customer.account)
    await close()
    expect((await admin('ledger')).body).toEqual({
      state: 'read_only',
      reason: 'By hand.',
      writeOffs: { charges: 1, usd: (Number(writtenOff) / 1e6).toFixed(6) },
    })
  })
})
