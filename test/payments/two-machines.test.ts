/** Several processes on one store: the driver of a payment holds its lease, and a former driver moves nothing. */
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { evmNetwork } from '#contract/wire/networks.ts'
import { pruneStore } from '#ledger/store/store.ts'
import { openLocalFacilitator } from '#payments/evm/local-facilitator.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import type { PaymentChain } from '#payments/payment/payment.ts'
import type { TopUps } from '#payments/top-ups/top-up.ts'
import type { TestChain } from './test-chain.ts'
import { type Answer, creditOf, payer, send, type World, withFacilitator } from './top-up-world.ts'
import { worldForEachTest } from './world-for-each-test.ts'

const five = 5_000_000n
const leaseIsOver = 31_000

let chain: TestChain
let world: World
worldForEachTest(made => {
  chain = made.chain
  world = made.world
})

const received = () => chain.transfersTo(world.option.payTo)
const rows = () =>
  world.opened.store.read.selectFrom('payment').select(['id', 'state', 'fence', 'lease_owner']).execute()
const expectPending = ({ status, body }: Answer) =>
  expect([status, body.error]).toEqual([500, 'X402_SETTLEMENT_PENDING'])

/** Settles nothing until it is let go, then does or does not. */
function stalling(end: (settle: () => ReturnType<Facilitator['settle']>) => ReturnType<Facilitator['settle']>) {
  const real: Facilitator = world.facilitator
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const settle: Facilitator['settle'] = async payment => {
    asked.resolve()
    await held.promise
    return end(() => real.settle(payment))
  }
  return { facilitator: withFacilitator(real, { settle }), asked: asked.promise, letGo: () => held.resolve() }
}

const ends: [string, Parameters<typeof stalling>[0]][] = [
  ['that it is settled', settle => settle()],
  ['that it is refused', async () => ({ state: 'refused', reason: 'insufficient_funds' })],
  ['that it could not be sent', async () => ({ state: 'unsent', why: 'The key has no gas.' })],
  ['nothing', () => Promise.reject(new Error('lost'))],
]

test.each(ends)(
  'a process that was away for longer than its lease, and then hears %s, changes nothing',
  async (_, end) => {
    const { account, payment } = await payer(world)
    const { facilitator, asked, letGo } = stalling(end)
    const away = world.compose({ facilitator, answerWaitMs: 200 })
    expectPending(await send(away, payment))
    await asked
    world.clock.offsetMs = leaseIsOver
    const first = await send(world.topUps, payment)
    expect(first.status).toBe(200)
    const before = await rows()
    letGo()
    await away.close()
    expect(await rows()).toEqual(before)
    expect((await send(away, payment)).text).toBe(first.text)
    expect(await received()).toHaveLength(1)
    expect(await creditOf(world, account.address)).toBe(five)
  },
)

test('a lease that was taken over is not released by its former holder', async () => {
  const { payment } = await payer(world)
  const lost = withFacilitator(world.facilitator, { settle: () => Promise.reject(new Error('lost')) })
  expectPending(await send(world.compose({ facilitator: lost }), payment))
  /** Looks at the chain until it is let go, and finds that nothing is certain yet. */
  const looking = () => {
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const find: PaymentChain['find'] = async () => {
      asked.resolve()
      await held.promise
      return { state: 'unconfirmed' }
    }
    return { work: world.compose({ chain: { find } }).completer.complete(), asked: asked.promise, letGo: held.resolve }
  }
  const first = looking()
  await first.asked
  world.clock.offsetMs = leaseIsOver
  const second = looking()
  await second.asked
  const taken = await rows()
  expect(taken).toMatchObject([{ state: 'unknown', lease_owner: expect.any(String) }])
  first.letGo()
  await first.work
  expect(await rows()).toEqual(taken)
  second.letGo()
  await second.work
  expect(await rows()).toMatchObject([{ state: 'unknown', lease_owner: null }])
})

test('completers that run at once settle each payment once between them', async () => {
  const lost = withFacilitator(world.facilitator, { settle: () => Promise.reject(new Error('lost')) })
  const left = world.compose({ facilitator: lost })
  const payers = []
  for (let index = 0; index < 8; index++) payers.push(await payer(world))
  await Promise.all(payers.map(({ payment }) => send(left, payment)))
  expect((await rows()).map(({ state }) => state)).toEqual(payers.map(() => 'unknown'))
  const settled: string[] = []
  const real: Facilitator = world.facilitator
  const settle: Facilitator['settle'] = payment => {
    settled.push(payment.key)
    return real.settle(payment)
  }
  const machines = [1, 2, 3].map(() => world.compose({ facilitator: withFacilitator(real, { settle }) }))
  await Promise.all(machines.map(machine => machine.completer.complete()))
  expect([...settled].sort()).toEqual((await rows()).map(({ id }) => id).sort())
  for (const { account } of payers) expect(await creditOf(world, account.address)).toBe(five)
  expect(await received()).toHaveLength(payers.length)
})

test('a payment that was rejected and is sent to several at once is claimed by one of them', async () => {
  const { account, payment } = await payer(world)
  const broke = withFacilitator(world.facilitator, {
    settle: async () => ({ state: 'refused', reason: 'insufficient_funds' }),
  })
  expect((await send(world.compose({ facilitator: broke }), payment)).status).toBe(400)
  let settlements = 0
  const real: Facilitator = world.facilitator
  const settle: Facilitator['settle'] = signed => {
    settlements++
    return real.settle(signed)
  }
  const machines = [1, 2, 3].map(() => world.compose({ facilitator: withFacilitator(real, { settle }) }))
  const answers = await Promise.all(machines.map(machine => send(machine, payment)))
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect([answers[0]?.status, settlements]).toEqual([200, 1])
  expect(await creditOf(world, account.address)).toBe(five)
})

test('processes that settle by one key take turns on the chain: every payer is credited with the first answer', async () => {
  const key = generatePrivateKey()
  await chain.fund(privateKeyToAccount(key).address)
  const machines: TopUps[] = []
  for (let index = 0; index < 3; index++) {
    const facilitator = await openLocalFacilitator({ network: evmNetwork, rpcUrl: world.gate.url, key })
    machines.push(world.compose({ facilitator }))
  }
  const payers = []
  for (let index = 0; index < 15; index++) payers.push(await payer(world))
  const answers = await Promise.all(
    payers.map(({ payment }, index) => send(machines[index % machines.length] ?? world.topUps, payment)),
  )
  expect(answers.map(({ status, body }) => [status, body.error])).toEqual(payers.map(() => [200, undefined]))
  expect(await received()).toHaveLength(payers.length)
})

test('a payment is kept forever: pruning leaves it, and its answer, years later', async () => {
  const { payment } = await payer(world)
  const first = await send(world.topUps, payment)
  const yearsMs = 10 * 365 * 24 * 60 * 60 * 1_000
  await pruneStore(world.opened.store, Date.now() + yearsMs)
  world.clock.offsetMs = yearsMs
  expect((await send(world.topUps, payment)).text).toBe(first.text)
  expect(await rows()).toHaveLength(1)
})
