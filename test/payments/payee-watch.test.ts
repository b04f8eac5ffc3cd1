/** Services on one database with different payees are reported, whichever starts second. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { payeeNoteMs } from '#payments/bounds.ts'
import { PayeeWatch } from '#payments/top-ups/payment-watch.ts'
import { testOption } from '../service/open-service.ts'
import { type DriverWorld, openDriverWorld } from './driver-world.ts'

let world: DriverWorld
beforeAll(async () => {
  world = await openDriverWorld()
})
afterAll(() => world.dispose())

/** A service of that payee on ledger of its own name, and what it logs. */
function serviceOf(payTo: string, more: Partial<PaymentOption> = {}) {
  const told: object[] = []
  const tell = (facts: object) => void told.push(facts)
  const options = [{ ...testOption, payTo, ...more }]
  const store = { ...world.store, soleOwner: false }
  return {
    told,
    watch: new PayeeWatch({ options, store, clock: world.clock, log: { info: tell, warn: tell, error: tell } }),
  }
}

const [one, other] = [`0x${'A1'.repeat(20)}`, `0x${'b2'.repeat(20)}`]
const network = testOption.network

test('each learns of the other, once', async () => {
  const [first, second] = [serviceOf(one), serviceOf(other)]
  await first.watch.look()
  expect(first.told).toEqual([])
  await second.watch.look()
  expect(second.told).toEqual([{ network, payee: other, otherPayee: one.toLowerCase() }])
  await first.watch.look()
  await first.watch.look()
  expect(first.told).toEqual([{ network, payee: one.toLowerCase(), otherPayee: other }])
  world.clock.pass(payeeNoteMs)
})

test('the same payee in another spelling is the same, and another network’s is its own', async () => {
  const services = [serviceOf(one), serviceOf(one.toLowerCase()), serviceOf(other, { network: 'eip155:1' })]
  for (const { watch } of services) await watch.look()
  for (const { watch } of services) await watch.look()
  expect(services.flatMap(({ told }) => told)).toEqual([])
  world.clock.pass(payeeNoteMs)
})

test('a payee that was replaced is forgotten', async () => {
  await serviceOf(one).watch.look()
  world.clock.pass(payeeNoteMs)
  const next = serviceOf(other)
  await next.watch.look()
  expect(next.told).toEqual([])
})

test('a ledger that one process alone has is not written to', async () => {
  const before = await world.store.read.selectFrom('nonce').select('id').execute()
  const log = { info() {}, warn() {}, error() {} }
  const watch = new PayeeWatch({ options: [testOption], store: world.store, clock: world.clock, log })
  await watch.start()
  expect(await world.store.read.selectFrom('nonce').select('id').execute()).toEqual(before)
})
