import { expect, test } from 'vitest'
import { startLocalEvmChain } from '#local/evm/chain.ts'
import { fundFromFaucet } from '#local/faucet.ts'
import { newAccount } from './stock-payment.ts'
import { temporaryDataDir } from './temporary-chain.ts'

test('the faucet mints on the running chain of a folder, beside its owner, each amount once', async () => {
  const dataDir = await temporaryDataDir()
  const chain = await startLocalEvmChain({ dataDir })
  const { address } = newAccount()
  await Promise.all([
    ...Array.from({ length: 6 }, () => fundFromFaucet({ dataDir, address, amountMicroUsd: 1_000_000n })),
    ...Array.from({ length: 6 }, () => chain.mintUsdc(address, 10n)),
  ])
  const funded = await fundFromFaucet({ dataDir, address: address.toLowerCase(), amountMicroUsd: 250_000n })
  expect(funded).toMatchObject({ address, balanceMicroUsd: 6_250_060n })
  expect(await chain.balanceOf(address)).toBe(6_250_060n)
  await chain.stop()
})

test.each([
  ['no address', '0x1234', 1n, /not an EVM address/],
  ['an address mistyped', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92267', 1n, /not an EVM address/],
  [
    'no running chain',
    newAccount().address,
    1n,
    /No local chain is running in .*; use --data with the folder that `farebox up` printed/,
  ],
])('%s is told in a sentence', async (_what, address, amountMicroUsd, sentence) => {
  const dataDir = await temporaryDataDir()
  await expect(fundFromFaucet({ dataDir, address, amountMicroUsd })).rejects.toThrow(sentence)
})

test.each([0n, -1n, 1_000_000_000_000_001n])('%s micro-USD is no amount to mint', async amountMicroUsd => {
  const dataDir = await temporaryDataDir()
  const chain = await startLocalEvmChain({ dataDir })
  const request = { dataDir, address: newAccount().address, amountMicroUsd }
  await expect(fundFromFaucet(request)).rejects.toThrow(/mints between 0.000001 and 1000000000 USD/)
  await chain.stop()
})
