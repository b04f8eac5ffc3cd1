import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openEvmPaymentChain } from '#payments/evm/evm-payment-chain.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import type { OnChain, PaymentChain } from '#payments/payment/payment.ts'
import { startTestChain, type TestChain } from './test-chain.ts'
import {
  type Answer,
  creditOf,
  type Loose,
  openWorld,
  payer,
  send,
  type World,
  withFacilitator,
} from './top-up-world.ts'

const five = 5_000_000n
const confirmations = 3

let chain: TestChain
let world: World
let deep: PaymentChain
beforeAll(async () => {
  chain = await startTestChain()
})
afterAll(() => chain.stop())
beforeEach(async () => {
  world = await openWorld(chain)
  deep = await openEvmPaymentChain({ rpcUrl: world.gate.url, confirmations })
})
afterEach(() => world.dispose())

const mine = async (blocks: number) => void (await chain.ask('anvil_mine', [`0x${blocks.toString(16)}`]))
const received = () => chain.transfersTo(world.option.payTo)
const rowOf = () => world.opened.store.read.selectFrom('payment').select(['state', 'fence']).executeTakeFirst()
const atDepth = () => world.compose({ chain: deep, answerWaitMs: 300 })
const expectPending = ({ status, body }: Answer) =>
  expect([status, body.error]).toEqual([500, 'X402_SETTLEMENT_PENDING'])

/** As the payment was brought to the chain by a process that then ended: the row is free, the transfer at the head. */
async function landedAtHead(): Promise<{ account: { address: string }; payment: Loose }> {
  const { account, payment } = await payer(world)
  const real: Facilitator = world.facilitator
  const settle: Facilitator['settle'] = async signed => {
    await real.settle(signed)
    return { state: 'unsent', why: 'This process ends here.' }
  }
  const facilitator = withFacilitator(world.facilitator, { settle })
  expectPending(await send(world.compose({ chain: deep, facilitator }), payment))
  expect(await received()).toHaveLength(1)
  return { account, payment }
}

describe('X11: a payment is credited once enough blocks follow it', () => {
  test('the request waits, is answered as pending, and the credit follows with the blocks', async () => {
    const { account, payment } = await payer(world)
    const topUps = atDepth()
    expectPending(await send(topUps, payment))
    await expect.poll(received).toHaveLength(1)
    expect(await creditOf(world, account.address)).toBe(0n)
    await mine(confirmations)
    await topUps.close()
    expect(await creditOf(world, account.address)).toBe(five)
    expect((await send(topUps, payment)).status).toBe(200)
    expect(await received()).toHaveLength(1)
  })

  test('the completer counts too: one block short is not enough', async () => {
    const { account } = await landedAtHead()
    await mine(confirmations - 1)
    await atDepth().completer.complete()
    expect(await rowOf()).toMatchObject({ state: 'unknown' })
    expect(await creditOf(world, account.address)).toBe(0n)
    await mine(1)
    await atDepth().completer.complete()
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('a transfer in a dropped block is not credited for that block, and is submitted again', async () => {
    const before = await chain.ask('evm_snapshot')
    const { account, payment } = await payer(world)
    const funded = await chain.ask('evm_snapshot')
    const topUps = atDepth()
    expectPending(await send(topUps, payment))
    await expect.poll(received).toHaveLength(1)
    await chain.ask('evm_revert', [funded])
    await topUps.close()
    expect(await received()).toHaveLength(0)
    expect(await creditOf(world, account.address)).toBe(0n)
    await atDepth().completer.complete()
    await mine(confirmations)
    await atDepth().completer.complete()
    expect(await received()).toHaveLength(1)
    expect(await creditOf(world, account.address)).toBe(five)
    await chain.ask('evm_revert', [before])
  })

  test('one that another party submitted is picked up and credited later, without another request', async () => {
    const other = await openWorld(chain)
    try {
      const { account, payment } = await landedAtHead()
      const topUps = world.compose({ chain: deep, store: other.opened.store, answerWaitMs: 300 })
      expectPending(await send(topUps, payment))
      await mine(confirmations)
      // The first driver may still have the lease, and then it is the one that credits.
      const credited = () => topUps.completer.complete().then(() => creditOf(other, account.address))
      await expect.poll(credited, { timeout: 20_000 }).toBe(five)
    } finally {
      await other.dispose()
    }
  })
})

test('the time until which a nonce is unused is that of a block which stays', async () => {
  const { payment } = await payer(world)
  const topUps = world.compose({ facilitator: lost() })
  expectPending(await send(topUps, payment))
  const { payload } = await world.opened.store.read.selectFrom('payment').select('payload').executeTakeFirstOrThrow()
  const signed = JSON.parse(payload ?? '')
  await chain.ask('evm_increaseTime', [60])
  await mine(1)
  const ask = async (paymentChain: PaymentChain): Promise<OnChain> => paymentChain.find(signed, null)
  const [atHead, before] = [await ask(world.paymentChain), await ask(deep)]
  const number = Number(await chain.ask('eth_blockNumber')) - confirmations
  const block = (await chain.ask('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])) as { timestamp: string }
  expect(before).toEqual({ state: 'open', chainTimeSeconds: Number(block.timestamp) })
  expect(atHead).toEqual({ state: 'open', chainTimeSeconds: expect.any(Number) })
  expect(JSON.stringify(atHead)).not.toBe(JSON.stringify(before))
})

const lost = () => withFacilitator(world.facilitator, { settle: () => Promise.reject(new Error('lost')) })

test.each([-1, 0.5, 1_001, Number.NaN])('%d confirmations are refused at start', async wrong => {
  const opening = openEvmPaymentChain({ rpcUrl: world.gate.url, confirmations: wrong })
  await expect(opening).rejects.toThrow('from 0 to 1000')
})
