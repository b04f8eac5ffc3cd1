/** The wallet's rail on Solana against `farebox up`: `farebox mcp` with a key of that chain alone, and with both. */
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { solanaNetwork } from '#contract/wire/networks.ts'
import { askChain } from '#local/chain/process.ts'
import { type LocalSolanaKeys, loadLocalKeys, loadLocalSolanaKeys } from '#local/keys.ts'
import { launcher } from '../build/built-product.ts'
import { type SpawnedUp, spawnUp } from './spawned-up.ts'

let up: SpawnedUp
let rpcUrl: string
let keys: LocalSolanaKeys
beforeAll(async () => {
  up = await spawnUp()
  rpcUrl = String(up.lines.find(({ event }) => event === 'ready')?.solanaRpcUrl)
  keys = await loadLocalSolanaKeys(up.folder)
}, 60_000)
afterAll(() => up.dispose())

async function assistant(data: string, env: Record<string, string>) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  const all = { PATH: '', HOME: up.folder, FAREBOX_BASE_URL: up.baseUrl, FAREBOX_DATA: data, ...env }
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [launcher, 'mcp'], env: all }))
  return {
    call: async (name: string, args: Record<string, unknown> = {}) => {
      const { structuredContent, content } = await client.callTool({ name, arguments: args })
      return (structuredContent ?? { content }) as Record<string, unknown>
    },
    close: () => client.close(),
  }
}

const chat = { model: 'demo-chat', prompt: 'Hello', max_tokens: 20 }

test('a key of Solana alone: a 402, a top-up there, the call paid, the receipt', async () => {
  const { payee, wallet } = keys
  const env = { FAREBOX_SOLANA_KEY: wallet.secretKey, FAREBOX_PAYEE: payee.address }
  const { call, close } = await assistant(join(up.folder, 'agent'), env)
  try {
    expect(await call('chat', chat)).toMatchObject({ charged_usd: expect.any(Number), budget_left_usd: 5 })
    const status = await call('wallet_status')
    expect(status).toMatchObject({ address: wallet.address, network: solanaNetwork })
    const receipts = await call('wallet_receipts')
    expect(JSON.stringify(receipts)).toContain(solanaNetwork)
    expect(await askChain(rpcUrl, 'farebox_usdcBalance', [payee.address])).toBe('5000000')
  } finally {
    await close()
  }
}, 60_000)

test('with both keys, credit that lies in the account of one is spent first', async () => {
  const data = join(up.folder, 'other', 'agent')
  const { wallet, payee } = await loadLocalSolanaKeys(up.folder)
  const evm = `0x${'5'.repeat(64)}`
  const env = {
    FAREBOX_WALLET_KEY: evm,
    FAREBOX_SOLANA_KEY: wallet.secretKey,
    FAREBOX_PAYEE: `${(await loadLocalKeys(up.folder)).payee.address}, ${payee.address}`,
    FAREBOX_SOLANA_RPC_URL: rpcUrl,
    FAREBOX_EVM_RPC_URL: up.evmRpcUrl,
  }
  const first = await assistant(data, env)
  // Credit that the test before has left in that account is spent first: nothing is paid anew.
  expect(await first.call('chat', { ...chat, prompt: 'Hello again' })).toMatchObject({ budget_left_usd: 10 })
  expect(await first.call('wallet_status')).toMatchObject({ address: wallet.address, network: solanaNetwork })
  await first.close()
  expect(await askChain(rpcUrl, 'farebox_usdcBalance', [payee.address])).toBe('5000000')
}, 60_000)
