/** What a settling key does about a transaction that no block takes, or that another process of the key replaces. */
import { encodeFunctionData, type Hex, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { usdcAbi } from '#local/token/usdc.generated.ts'
import { openLocalFacilitator } from '#payments/evm/local-facilitator.ts'
import type { TopUps } from '#payments/top-ups/top-up.ts'
import type { GateMode } from './rpc-gate.ts'
import type { TestChain } from './test-chain.ts'
import { creditOf, payer, send, type World } from './top-up-world.ts'
import { worldForEachTest } from './world-for-each-test.ts'

const five = 5_000_000n
const highFee = 10n ** 12n

let chain: TestChain
let world: World
let topUps: TopUps
let key: Hex
worldForEachTest(made => {
  chain = made.chain
  world = made.world
})
beforeEach(async () => {
  key = generatePrivateKey()
  await chain.fund(addressOf(key))
  const facilitator = await openLocalFacilitator({ network: evmNetwork, rpcUrl: world.gate.url, key })
  topUps = world.compose({ facilitator })
})
afterEach(async () => {
  await chain.ask('evm_setAutomine', [true])
  await mine()
})

/** A payer with money, on a chain that makes a block only when it is told to. */
async function payerWithoutBlocks() {
  const paying = await payer(world)
  await chain.ask('evm_setAutomine', [false])
  return paying
}

const addressOf = (of: Hex) => privateKeyToAccount(of).address
const mine = () => chain.ask('evm_mine')
const countOf = async (block: 'pending' | 'latest') =>
  Number(await chain.ask('eth_getTransactionCount', [addressOf(key), block]))
const until = (isSo: () => boolean | Promise<boolean>) => vi.waitUntil(isSo, { timeout: 20_000, interval: 10 })
const sends = () => world.gate.asked.filter(method => method === 'eth_sendRawTransaction').length

describe('a payment whose transaction waits for a block', () => {
  /** It was sent, and the answer to that was lost; answers a round of the completer that has begun. */
  async function resumed(mode: GateMode): Promise<{ account: { address: string }; round: Promise<void> }> {
    const { account, payment } = await payerWithoutBlocks()
    world.gate.mode = 'lose-sends'
    const pending = await send(topUps, payment)
    expect([pending.status, pending.body.error]).toEqual([500, 'X402_SETTLEMENT_PENDING'])
    world.gate.mode = mode
    world.gate.asked.length = 0
    return { account, round: topUps.completer.complete() }
  }

  test('is waited for, and not sent under another number', async () => {
    const { account, round } = await resumed('plain')
    // The first is from before it is settled again.
    await until(() => world.gate.asked.filter(method => method === 'eth_getTransactionReceipt').length > 1)
    await mine()
    await round
    expect(await creditOf(world, account.address)).toBe(five)
    expect([sends(), await countOf('latest')]).toEqual([0, 1])
  })

  test('is sent under the same number at the new fee, where fees have risen above its own', async () => {
    const { account, round } = await resumed('dear')
    await until(() => sends() > 0)
    await mine()
    await round
    expect(await creditOf(world, account.address)).toBe(five)
    expect([sends(), await countOf('latest'), await countOf('pending')]).toEqual([1, 1, 1])
  })
})

test('a transaction that another process of its key replaces is sent again', async () => {
  const { account, payment } = await payerWithoutBlocks()
  const answer = send(topUps, payment)
  await until(async () => (await countOf('pending')) === 1)
  const fees = { maxFeePerGas: highFee, maxPriorityFeePerGas: highFee }
  const replacing = { type: 'eip1559', chainId: 8453, nonce: 0, to: addressOf(key), gas: 21_000n, ...fees } as const
  await chain.ask('eth_sendRawTransaction', [await privateKeyToAccount(key).signTransaction(replacing)])
  await chain.ask('evm_setAutomine', [true])
  await mine()
  expect((await answer).status).toBe(200)
  expect(await chain.transfersTo(world.option.payTo)).toHaveLength(1)
  expect(await creditOf(world, account.address)).toBe(five)
})

test('a payee whose balance is swept before the block has the payment is paid all the same', async () => {
  const { payTo } = world.option
  await chain.mint(payTo, 1n)
  await chain.fund(payTo)
  await chain.ask('anvil_impersonateAccount', [payTo])
  const { account, payment } = await payerWithoutBlocks()
  const answer = send(topUps, payment)
  await until(async () => (await countOf('pending')) === 1)
  const data = encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args: [account.address, 1n] })
  const first = { maxFeePerGas: toHex(highFee), maxPriorityFeePerGas: toHex(highFee) }
  await chain.ask('eth_sendTransaction', [{ from: payTo, to: usdcOnEvm, data, gas: toHex(100_000n), ...first }])
  await mine()
  expect((await answer).status).toBe(200)
  expect(await chain.transfersTo(payTo)).toHaveLength(2)
  expect(await creditOf(world, account.address)).toBe(five)
})
