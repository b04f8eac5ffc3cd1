import { expect, test } from 'vitest'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import { attacker, fakeService, option, order, sampleWallet } from './sample-wallet.ts'

test('an empty wallet is told what to send where, and not that something was lost', async () => {
  const { wallet, dispose } = await sampleWallet()
  const { send } = fakeService(wallet.address, 'reject')
  const refusal = await wallet.pay(order(), send).catch(error => error)
  expect(refusal).toMatchObject({
    sentence: expect.stringContaining('has too little USDC'),
    nextStep: expect.stringContaining(`Send at least 5.00 USD in USDC to ${wallet.address}`),
  })
  dispose()
})

test('a payee that its owner has named and that was paid is known for good', async () => {
  const { wallet, folder, dispose } = await sampleWallet()
  const service = fakeService(wallet.address, 'credit')
  await wallet.pay(order(), service.send)
  expect((await wallet.status()).payees).toHaveLength(1)
  await wallet.close()
  const later = await sampleWallet({ payees: [] }, { dataFolder: folder })
  later.clock.advance(24 * 3_600_000)
  await later.wallet.pay(order(), service.send)
  expect(service.settled.size).toBe(2)
  later.clock.advance(3_600_000)
  const other = later.wallet.pay(order({ accepts: [option({ payTo: attacker })] }), service.send)
  await expect(other).rejects.toBeInstanceOf(NeedsApproval)
  later.wallet.close()
  dispose()
})
