/** A process whose clock has jumped drives no payment that another one may be driving. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Store } from '#ledger/store/store.ts'
import { PaymentRows } from '#payments/top-ups/payment-rows.ts'
import { type DriverWorld, openDriverWorld } from './driver-world.ts'

let world: DriverWorld
beforeAll(async () => {
  world = await openDriverWorld()
})
afterAll(() => world.dispose())

test.each([
  ['a clock that agrees with the database’s takes it', 0, 'another process', true],
  ['one that has jumped leaves it', 5_001, 'another process', false],
  ['one that has jumped goes on with its own', 5_001, 'this process', true],
])('a payment whose lease has lapsed by our clock: %s', async (_rule, differenceMs, owner, taken) => {
  world.begins()
  const payment = world.signed()
  await new PaymentRows({ store: world.store, clock: world.clock, owner }).claim(payment, null)
  world.clock.pass(30_000)
  const shared: Store = { ...world.store, soleOwner: false, clockDifferenceMs: async () => differenceMs }
  const rows = new PaymentRows({ store: shared, clock: world.clock, owner: 'this process' })
  const row = (await rows.find(payment.key)) ?? expect.fail()
  const isAbandoned = (await rows.abandoned(10)).some(({ key }) => key === payment.key)
  expect([isAbandoned, await rows.isDriven(row)]).toEqual([taken, !taken])
  await rows.release(row)
  expect((await rows.abandoned(10)).map(({ key }) => key)).toContain(payment.key)
})
