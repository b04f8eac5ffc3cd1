import { rmSync } from 'node:fs'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, http, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { expect, test } from 'vitest'
import { paymentSignature } from '#contract/wire/headers.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { startLocalEvmChain } from '#local/evm/chain.ts'
import { credited, option, order, payTo, readHeader, sampleWallet, temporaryFolder, usd } from './sample-wallet.ts'

test('the header is what the wire format says', async () => {
  const { wallet, clock, dispose } = await sampleWallet()
  const headers: string[] = []
  await wallet.pay(order({ accepts: [option({ amount: '1000000' })] }), async header => {
    headers.push(header)
    return credited(wallet.address, 5_000_000n)
  })
  const { authorization, accepted, signature } = readHeader(headers[0] ?? '')
  // The amount is ours, everything else the option as it was offered.
  expect(accepted).toEqual(option({ amount: '5000000' }))
  expect(authorization).toEqual({
    from: wallet.address,
    to: payTo,
    value: '5000000',
    validAfter: '0',
    validBefore: String(clock.now() / 1_000 + 300),
    nonce: expect.stringMatching(/^0x[0-9a-f]{64}$/),
  })
  expect(signature).toMatch(/^0x[0-9a-f]{130}$/)
  dispose()
})

test('the stock facilitator settles the signature on a chain', { timeout: 60_000 }, async () => {
  const dataDir = temporaryFolder()
  const chain = await startLocalEvmChain({ dataDir })
  const clock = { now: () => Date.now() }
  const { wallet, dispose } = await sampleWallet({}, { clock })
  try {
    const account = privateKeyToAccount(generatePrivateKey())
    await chain.fundEth(account.address)
    await chain.mintUsdc(wallet.address as `0x${string}`, usd(7))
    const client = createWalletClient({ account, chain: base, transport: http(chain.rpcUrl) }).extend(publicActions)
    const facilitator = new x402Facilitator().register(
      evmNetwork,
      new ExactEvmScheme(toFacilitatorEvmSigner({ ...client, address: account.address } as never)),
    )
    const offered = option({ asset: usdcOnEvm, extra: { name: chain.tokenName, version: chain.tokenVersion } })
    const paid = await wallet.pay(order({ accepts: [offered] }), async header => {
      const payload = paymentSignature.parse(header) as never
      expect(await facilitator.verify(payload, offered as never)).toMatchObject({ isValid: true })
      const settled = await facilitator.settle(payload, offered as never)
      expect(settled).toMatchObject({ success: true, payer: wallet.address })
      return credited(wallet.address, 5_000_000n)
    })
    expect(paid.creditedMicroUsd).toBe(usd(5))
    expect(await chain.balanceOf(payTo)).toBe(usd(5))
    expect(await chain.balanceOf(wallet.address as `0x${string}`)).toBe(usd(2))
  } finally {
    dispose()
    await chain.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})
