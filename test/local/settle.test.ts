import { parseEventLogs } from 'viem'
import { expect, test } from 'vitest'
import { startLocalEvmChain } from '#local/evm/chain.ts'
import { usdcAbi } from '#local/token/usdc.generated.ts'
import { compileContract } from '../../scripts/compile-token.ts'
import { chainClient, demand, newAccount, stockFacilitator, stockPayment } from './stock-payment.ts'
import { temporaryChain, temporaryDataDir } from './temporary-chain.ts'

const payee = newAccount().address

test('the stock facilitator settles what the stock client signed, once', async () => {
  const chain = await temporaryChain()
  const payer = newAccount()
  await chain.mintUsdc(payer.address, 12_000_000n)
  const facilitator = await stockFacilitator(chain)
  const requirements = demand(chain, payee)
  const payment = await stockPayment(payer, requirements)

  expect(await facilitator.verify(payment, requirements)).toMatchObject({ isValid: true, payer: payer.address })
  const settled = await facilitator.settle(payment, requirements)
  expect(settled).toMatchObject({ success: true, payer: payer.address, network: 'eip155:8453' })
  expect(await chain.balanceOf(payer.address)).toBe(7_000_000n)
  expect(await chain.balanceOf(payee)).toBe(5_000_000n)

  const receipt = await chainClient(chain).getTransactionReceipt({ hash: settled.transaction as `0x${string}` })
  const events = parseEventLogs({ abi: usdcAbi, logs: receipt.logs })
  expect(events.map(event => event.eventName).sort()).toEqual(['AuthorizationUsed', 'Transfer'])

  expect(await facilitator.verify(payment, requirements)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_exact_evm_nonce_already_used',
  })
  expect(await facilitator.settle(payment, requirements)).toMatchObject({ success: false })
  expect(await chain.balanceOf(payee)).toBe(5_000_000n)
})

test('what stock software may not take is refused with its precise reason', async () => {
  const chain = await temporaryChain()
  const payer = newAccount()
  const facilitator = await stockFacilitator(chain)
  const requirements = demand(chain, payee)

  const poor = await stockPayment(payer, requirements)
  expect(await facilitator.verify(poor, requirements)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_exact_evm_insufficient_balance',
  })

  await chain.mintUsdc(payer.address, 12_000_000n)
  const misnamed = { ...requirements, extra: { name: 'USD Coin', version: '2' } }
  expect(await facilitator.verify(await stockPayment(payer, misnamed), misnamed)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_exact_evm_token_name_mismatch',
  })

  const late = { ...requirements, maxTimeoutSeconds: -60 }
  expect(await facilitator.verify(await stockPayment(payer, late), late)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_exact_evm_payload_authorization_valid_before',
  })
  expect(await chain.balanceOf(payer.address)).toBe(12_000_000n)
})

/** Takes its owner's signature, with anything behind it. */
const walletSource = `// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;
contract OwnedWallet {
    address public owner;
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (signature.length < 65) return 0xffffffff;
        address signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        return signer != address(0) && signer == owner ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}`

test.each([
  ['65 bytes, split by the facilitator into v, r and s', ''],
  ['longer, passed on as bytes', 'beef'],
])('a wallet that is a contract pays with a signature of %s', async (_length, tail) => {
  const chain = await temporaryChain()
  const client = chainClient(chain)
  const [owner, stranger, wallet] = [newAccount(), newAccount(), newAccount().address]
  const { code } = await compileContract('wallet.sol', 'OwnedWallet', walletSource)
  await client.setCode({ address: wallet, bytecode: `0x${code}` })
  await client.setStorageAt({ address: wallet, index: 0, value: `0x${owner.address.slice(2).padStart(64, '0')}` })
  await chain.mintUsdc(wallet, 6_000_000n)
  const facilitator = await stockFacilitator(chain)
  const requirements = demand(chain, payee)
  const signedBy = (account: typeof owner) => ({
    address: wallet,
    signTypedData: async (message: never) => `${await account.signTypedData(message)}${tail}` as const,
  })

  const forged = await stockPayment(signedBy(stranger), requirements)
  expect(await facilitator.settle(forged, requirements)).toMatchObject({ success: false })
  const payment = await stockPayment(signedBy(owner), requirements)
  expect(await facilitator.verify(payment, requirements)).toMatchObject({ isValid: true })
  expect(await facilitator.settle(payment, requirements)).toMatchObject({ success: true, payer: wallet })
  expect(await chain.balanceOf(wallet)).toBe(1_000_000n)
})

test('a clean stop right after a settlement keeps it, its receipt and its events', async () => {
  const dataDir = await temporaryDataDir()
  const first = await startLocalEvmChain({ dataDir })
  const payer = newAccount()
  await first.mintUsdc(payer.address, 6_000_000n)
  const requirements = demand(first, payee)
  const payment = await stockPayment(payer, requirements)
  const settled = await (await stockFacilitator(first)).settle(payment, requirements)
  await first.stop()

  const second = await startLocalEvmChain({ dataDir })
  expect(second.origin).toBe('saved')
  expect(await second.balanceOf(payee)).toBe(5_000_000n)
  const client = chainClient(second)
  const receipt = await client.getTransactionReceipt({ hash: settled.transaction as `0x${string}` })
  expect(receipt.status).toBe('success')
  const used = await client.getContractEvents({
    address: second.tokenAddress,
    abi: usdcAbi,
    eventName: 'AuthorizationUsed',
    args: { authorizer: payer.address },
    fromBlock: 0n,
  })
  expect(used.map(event => event.transactionHash)).toEqual([settled.transaction])
  expect(await (await stockFacilitator(second)).verify(payment, requirements)).toMatchObject({ isValid: false })
  await second.stop()
})
