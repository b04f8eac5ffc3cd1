/** Payments on a Solana chain through the whole application, by the stock client. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { paymentRequired, paymentResponse } from '#contract/wire/headers.ts'
import { type SvmChain, startSvmChain } from './svm-chain.ts'
import { creditOf, openSvmWorld, payingFetch, type SvmWorld, svmPayer } from './svm-world.ts'
import { topUpUrl } from './top-up-world.ts'

let chain: SvmChain
let world: SvmWorld
beforeAll(async () => {
  chain = await startSvmChain()
  world = await openSvmWorld(chain)
})
afterAll(async () => {
  await world.dispose()
  await chain.stop()
})

test('without a payment: 402 with the Solana option, its fee payer and the header that clients read', async () => {
  const response = await world.opened.request(topUpUrl, { method: 'POST' })
  expect(response.status).toBe(402)
  expect(await response.json()).toEqual({ x402Version: 2, accepts: [world.option] })
  expect(paymentRequired.parse(response.headers.get('payment-required') ?? '')).toMatchObject({
    accepts: [world.option],
  })
})

test('the stock client asks, signs and gets its credit, settled on the chain before the answer', async () => {
  const account = await svmPayer(world)
  const response = await payingFetch(world, account)(topUpUrl, { method: 'POST' })
  const body = await response.json()
  expect([response.status, body]).toEqual([
    200,
    {
      success: true,
      data: {
        walletAddress: account.address,
        amountCredited: 5,
        newBalance: 5,
        paymentId: expect.stringMatching(/^pay_\w{32}$/),
      },
    },
  ])
  const settlement = paymentResponse.parse(response.headers.get('payment-response') ?? '')
  expect(settlement).toMatchObject({ success: true, network: world.option.network, payer: account.address })
  const [transfer, ...others] = await chain.transfersTo(world.payee.address)
  expect(transfer).toEqual({ signature: settlement?.transaction, err: null, amount: 5_000_000n })
  expect(others).toEqual([])
  expect(await chain.usdcOf(account.address)).toBe(15_000_000n)
  expect(await creditOf(world, account.address)).toBe(5_000_000n)
})
