import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { DemoChat } from '#engines/demo/chat.ts'
import { usdcAbi, usdcCode } from '#local/token/usdc.generated.ts'
import { openEvmStakeReader } from '#payments/evm/evm-stake-reader.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { openService } from '#service/running/open-service.ts'
import { evmWallet } from '../access/identity/signed-header.ts'
import { startTestChain, type TestChain } from '../payments/test-chain.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { noVideo } from './models/example-models.ts'

const contract = '0x00000000000000000000000000000000000057a4'
const minter = '0x0000000000000000000000000000FA2eB0C50001'
const ada = `0x${'ad'.repeat(20)}`
const bob = `0x${'b0'.repeat(20)}`

let chain: TestChain
beforeAll(async () => {
  chain = await startTestChain()
  await chain.ask('anvil_setCode', [contract, usdcCode])
  await stake(ada, 3_500_000n)
  await stake(bob, 2_000_001n)
})
afterAll(() => chain.stop())

/** What stands to an address in the contract: all that a reader asks of a real one. */
async function stake(address: string, units: bigint): Promise<void> {
  const data = encodeFunctionData({ abi: usdcAbi, functionName: 'mint', args: [address as Hex, units] })
  await chain.ask('anvil_impersonateAccount', [minter])
  const hash = await chain.ask('eth_sendTransaction', [{ from: minter, to: contract, data }])
  await vi.waitUntil(async () => (await chain.ask('eth_getTransactionReceipt', [hash])) !== null, { timeout: 30_000 })
}

const reader = (decimals: number) => openEvmStakeReader({ rpcUrl: chain.url, contract, decimals })

test.each<[rule: string, decimals: number, wallets: string[], millionths: bigint]>([
  ['one wallet', 6, [ada], 3_500_000n],
  ['several wallets of one account', 6, [ada, bob], 5_500_001n],
  [
    'a wallet of another chain has staked nothing here',
    6,
    [ada, '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM'],
    3_500_000n,
  ],
  ['nobody', 6, [`0x${'00'.repeat(20)}`], 0n],
  ['no wallet', 6, [], 0n],
  ['a token of more decimals is rounded down', 9, [bob], 2_000n],
  ['a token of fewer decimals', 2, [bob], 20_000_010_000n],
])('%s', async (_rule, decimals, wallets, millionths) => {
  expect(await (await reader(decimals)).stakeOf(wallets)).toBe(millionths)
})

test.each([
  ['an invalid contract', { contract: `0x${'99'.repeat(20)}` }],
  ['a node that is not there', { rpcUrl: 'http://127.0.0.1:1' }],
])('%s is an error, never nothing', async (_rule, change) => {
  const other = await openEvmStakeReader({ rpcUrl: chain.url, contract, ...change })
  await expect(other.stakeOf([ada])).rejects.toThrow()
})

test.each([
  ['an invalid address', { contract: '0x12' }],
  ['decimals below zero', { contract, decimals: -1 }],
  ['decimals that no token has', { contract, decimals: 77 }],
])('%s is refused at the start', async (_rule, options) => {
  await expect(openEvmStakeReader({ rpcUrl: chain.url, ...options })).rejects.toThrow(/staking/)
})

test('a service that is told where stakes are lets a wallet with nothing else call', async () => {
  const folder = temporaryFolder('staking')
  const publicUrl = 'http://127.0.0.1:8402'
  const models = demoModels({ chat: new DemoChat({ pause: async () => undefined }), video: noVideo })
  const secrets = ['a secret of this test, thirty-two bytes'] as const
  const staking = { rpcUrl: chain.url, contract, decimals: 6 }
  const service = await openService({ publicUrl, folder, secrets: [...secrets], models, staking })
  try {
    const wallet = evmWallet()
    await stake(wallet.address, 1_000_000n)
    const header = await wallet.header({
      domain: '127.0.0.1:8402',
      uri: `${publicUrl}/api/v1/chat/completions`,
      chain: '8453',
      nonce: '00000000000000b1',
      issuedAt: new Date().toISOString(),
    })
    const answer = await service.fetch(
      new Request(`${publicUrl}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sign-in-with-x': header },
        body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'hello' }] }),
      }),
    )
    expect([answer.status, answer.headers.get('x-service-balance-diem')]).toEqual([200, '1.000000'])
    const { cost } = (await answer.json()) as { cost: { usd: number; diem: number } }
    expect([cost.usd, cost.diem > 0]).toEqual([0, true])
  } finally {
    await service.close()
  }
})
