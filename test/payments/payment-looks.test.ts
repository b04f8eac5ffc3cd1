/** An operator lets the service look at one payment now: it ends as it would by itself, and is credited once. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { RailChains } from '#payments/rails/rails.ts'
import { TopUps, type TopUpsOptions } from '#payments/top-ups/top-up.ts'
import { away, type DriverWorld, landed, open, openDriverWorld, type Told } from './driver-world.ts'

let world: DriverWorld
beforeAll(async () => {
  world = await openDriverWorld()
})
afterAll(() => world.dispose())
beforeEach(() => world.begins())

const settings = { publicUrl: 'http://127.0.0.1:8402', paymentOptions: [] }

/** One process of the service, which is told this. */
function processOf(told: Told, parts: Partial<TopUpsOptions> = {}) {
  const { facilitator, chain, log, asked } = world.driverOf(told)
  const { store, clock } = world
  const owner = `process ${Math.random()}`
  return { asked, topUps: new TopUps({ settings, store, clock, log, facilitator, chain, owner, ...parts }) }
}

/** A payment that a process sent, and then died. */
async function left() {
  const payment = world.signed()
  const row = await world.rows.claim(payment, null)
  if (row) await world.rows.hold(row, 'unknown', '0xbeef')
  world.clock.pass(30_000)
  return payment
}

const problem = 'The key 0x1 has no ETH, so no payment can be settled; send it some.'
const cases: [rule: string, told: Told, found: string, state: string, credited: boolean][] = [
  ['is credited if the chain shows it', { seen: [landed] }, 'ended', 'credited', true],
  ['is rejected if it was spent elsewhere', { seen: [{ state: 'void' }] }, 'ended', 'rejected', false],
  ['expires if it can no longer land', { seen: [{ state: 'over' }] }, 'ended', 'expired', false],
  ['is sent again if it still can land', { seen: [open, landed] }, 'ended', 'credited', true],
  ['stays open with too few confirmations', { seen: [{ state: 'unconfirmed' }] }, 'unconfirmed', 'unknown', false],
  ['stays open if the node is away', { seen: [away] }, 'unreachable', 'unknown', false],
  [
    'stays open if it cannot be sent, and the answer says why',
    { seen: [open], settlement: { state: 'unsent', why: 'no gas' } },
    'open',
    'unknown',
    false,
  ],
]

test.each(cases)('a payment that was left %s', async (_, told, found, state, credited) => {
  const payment = await left()
  const { topUps } = processOf(told)
  const facilitator = { ...world.driverOf(told).facilitator, problem: async () => problem }
  const look = await (found === 'open' ? processOf(told, { facilitator }).topUps : topUps).lookAgain(payment.key)
  expect(look).toEqual({ found, problem: found === 'open' ? problem : null })
  const after = await world.stateOf(payment)
  expect([after.state, after.credited !== null]).toEqual([state, credited])
  expect(after.row?.leaseUntilMs).toBe(null)
})

test('an unknown payment, one that ended, and one that a process is driving are not touched', async () => {
  const { topUps, asked } = processOf({ seen: [landed] })
  expect(await topUps.lookAgain('evm:8453:none')).toBe(null)
  const done = await left()
  await topUps.lookAgain(done.key)
  expect(await topUps.lookAgain(done.key)).toEqual({ found: 'ended', problem: null })
  expect(asked.found).toHaveLength(1)
  const driven = world.signed()
  await world.rows.claim(driven, null)
  expect(await topUps.lookAgain(driven.key)).toEqual({ found: 'driven', problem: null })
  expect(asked.found).toHaveLength(1)
})

test('a payment that cannot be read, or whose network is no longer configured, is left as it is', async () => {
  const foreign = await left()
  const chain = new RailChains({})
  expect(await processOf({}, { chain }).topUps.lookAgain(foreign.key)).toEqual({
    ...{ found: 'not_configured', problem: null },
  })
  expect((await world.stateOf(foreign)).state).toBe('unknown')
  const later = await left()
  await world.tamper(`UPDATE payment SET payload = '{"rail":"of a later release"}' WHERE id = '${later.key}'`)
  const { topUps, asked } = processOf({ seen: [landed] })
  expect(await topUps.lookAgain(later.key)).toEqual({ found: 'unreadable', problem: null })
  expect(asked.found).toEqual([])
})

test('O20: looks of two processes and a round at the same moment credit it once', async () => {
  const payment = await left()
  const [one, other] = [processOf({ seen: [landed] }), processOf({ seen: [landed] })]
  const looks = [one, one, other, other].map(({ topUps }) => topUps.lookAgain(payment.key))
  const found = await Promise.all([...looks, other.topUps.completer.complete()])
  for (const each of found.slice(0, 4)) expect(['ended', 'driven', 'open']).toContain(each?.found)
  const entries = await world.store.read
    .selectFrom('entry')
    .select('amount')
    .where('ref', '=', `topup:${payment.key}`)
    .execute()
  expect(entries).toHaveLength(1)
})

test('a slow chain is not waited for; the check continues, and no second one begins', async () => {
  const payment = await left()
  const { promise: slow, resolve: answer } = Promise.withResolvers<void>()
  const { chain, asked } = world.driverOf({ seen: [landed] })
  const late = { find: async (...args: Parameters<typeof chain.find>) => slow.then(() => chain.find(...args)) }
  const { topUps } = processOf({}, { chain: late, answerWaitMs: 20 })
  expect(await topUps.lookAgain(payment.key)).toEqual({ found: 'driven', problem: null })
  expect(await topUps.lookAgain(payment.key)).toEqual({ found: 'driven', problem: null })
  answer()
  await topUps.close()
  expect(asked.found).toHaveLength(1)
  expect((await world.stateOf(payment)).state).toBe('credited')
})
