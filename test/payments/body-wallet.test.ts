import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OpenedService, openService } from '../service/open-service.ts'
import { newAccount, startTestChain, type TestChain } from './test-chain.ts'
import { creditOf, encode, openWorld, payer, type World } from './top-up-world.ts'

let chain: TestChain
let world: World
let opened: OpenedService
beforeAll(async () => {
  chain = await startTestChain()
  world = await openWorld(chain)
  opened = await openService({ payments: world.topUps })
})
afterAll(async () => {
  await opened.close()
  await world.dispose()
  await chain.stop()
})

test('the verified payer is credited, whatever wallet the body of the request names', async () => {
  const { account, payment } = await payer(world)
  const other = newAccount().address.toLowerCase()
  const response = await opened.request('/api/v1/x402/top-up', {
    method: 'POST',
    headers: { 'payment-signature': encode(payment), 'content-type': 'application/json' },
    body: JSON.stringify({ walletAddress: other, wallet: other, account: other }),
  })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ data: { walletAddress: account.address.toLowerCase() } })
  expect([await creditOf(world, account.address), await creditOf(world, other)]).toEqual([5_000_000n, 0n])
})
