/** The stock x402 client for Solana against `farebox up`, as an independent user would use both. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { evmNetwork, solanaNetwork } from '#contract/wire/networks.ts'
import { askChain } from '#local/chain/process.ts'
import { loadLocalSolanaKeys } from '#local/keys.ts'
import { blocksOf } from '../docs/pages.ts'
import { runProgram } from '../docs/run-program.ts'
import { farebox, type SpawnedUp, spawnUp } from './spawned-up.ts'

let up: SpawnedUp
let rpcUrl: string
beforeAll(async () => {
  up = await spawnUp()
  rpcUrl = String(up.lines.find(({ event }) => event === 'ready')?.solanaRpcUrl)
}, 60_000)
afterAll(() => up.dispose())

test('the 402 offers the EVM rail first and then Solana, with the account that pays the fees', async () => {
  const response = await fetch(`${up.baseUrl}/x402/top-up`, { method: 'POST' })
  const { feePayer, payee } = await loadLocalSolanaKeys(up.folder)
  const { accepts } = (await response.json()) as { accepts: { network: string }[] }
  expect(accepts.map(({ network }) => network)).toEqual([evmNetwork, solanaNetwork])
  expect(accepts[1]).toMatchObject({ payTo: payee.address, amount: '5000000', extra: { feePayer: feePayer.address } })
})

test('a wallet that is funded by `farebox local fund` pays with the program of docs/payments.md', async () => {
  const { wallet, payee } = await loadLocalSolanaKeys(up.folder)
  const funded = await farebox('local', 'fund', wallet.address, '--usd', '25', '--data', up.folder)
  expect(funded).toMatchObject({ code: 0, stdout: expect.stringContaining(`${wallet.address} has 75.00 USD`) })
  const [program] = blocksOf('docs/payments.md').filter(({ language }) => language === 'js')
  const given = { secretKey: wallet.secretKey, rpcUrl, baseUrl: up.baseUrl }
  expect(await runProgram(`const { secretKey, rpcUrl, baseUrl } = ${JSON.stringify(given)}\n${program?.text}`)).toBe(
    '5\n',
  )
  expect(await askChain(rpcUrl, 'farebox_usdcBalance', [payee.address])).toBe('5000000')
  expect(up.errors()).toBe('')
})

test('a second start continues with the same chain', async () => {
  await up.stop()
  const again = await spawnUp({ folder: up.folder })
  const url = String(again.lines.find(({ event }) => event === 'ready')?.solanaRpcUrl)
  const { payee } = await loadLocalSolanaKeys(up.folder)
  expect(await askChain(url, 'farebox_usdcBalance', [payee.address])).toBe('5000000')
  await again.stop()
}, 60_000)
