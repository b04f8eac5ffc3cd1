import { afterAll, beforeAll, expect, test } from 'vitest'
import { evmWallet } from '../access/identity/signed-header.ts'
import { farebox, type SpawnedUp, spawnUp } from './spawned-up.ts'

let up: SpawnedUp
beforeAll(async () => {
  up = await spawnUp()
}, 60_000)
afterAll(() => up?.dispose())

const wallet = evmWallet()

async function chat(): Promise<Response> {
  const url = `${up.baseUrl}/chat/completions`
  const header = await wallet.header({
    domain: new URL(url).host,
    uri: url,
    chain: '8453',
    nonce: `${Date.now()}stake`,
    issuedAt: new Date().toISOString(),
  })
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sign-in-with-x': header },
    body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'hello' }] }),
  })
}

test('§5.4 a wallet without USDC spends the credit of what it has staked under `up`', async () => {
  const staked = await farebox('local', 'stake', wallet.address, '--tokens', '2', '--data', up.folder)
  expect([staked.code, staked.stdout]).toEqual([0, expect.stringContaining(`${wallet.address} has 2.00 USD of credit`)])
  const answer = await chat()
  expect([answer.status, answer.headers.get('x-service-balance-diem')]).toEqual([200, '2.000000'])
  const { cost } = (await answer.json()) as { cost: { usd: number; diem: number } }
  expect([cost.usd, cost.diem > 0]).toEqual([0, true])
  expect(Number((await chat()).headers.get('x-service-balance-diem'))).toBeCloseTo(2 - cost.diem, 6)
})

test.each([
  ['no address', ['--tokens', '2'], 2, 'ADDRESS'],
  ['an address mistyped', ['0x1234', '--tokens', '2'], 1, '40 hexadecimal digits'],
  ['no number', [wallet.address], 2, '--tokens'],
  ['nothing', [wallet.address, '--tokens', '0'], 2, '--tokens'],
])('a stake of %s is refused in a sentence', async (_what, args, code, says) => {
  const told = await farebox('local', 'stake', ...args, '--data', up.folder)
  expect([told.code, told.stderr]).toEqual([code, expect.stringContaining(says)])
})
