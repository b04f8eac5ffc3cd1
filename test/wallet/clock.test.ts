import { expect, onTestFinished, test } from 'vitest'
import { clockSkewMs } from '#wallet/limits.ts'
import { fakeNode, solanaKey, solanaOption, tokenAccount } from './sample-solana.ts'
import { fakeClock, fakeService, option, order, readHeader, sampleWallet } from './sample-wallet.ts'

const startMs = Date.UTC(2026, 10, 21)
const minuteMs = 60_000
const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`

async function walletAt(aheadMs: number, options: Parameters<typeof sampleWallet>[1] = {}) {
  const clock = fakeClock(startMs + aheadMs)
  const sample = await sampleWallet({ cooldownMs: 0 }, { clock, ...options })
  onTestFinished(sample.dispose)
  const service = fakeService(sample.wallet.address, 'credit')
  const pay = (changes: Parameters<typeof order>[0] = {}) =>
    sample.wallet.pay(order(changes), service.send).then(
      () => 'paid',
      error => error.rule,
    )
  return { ...sample, clock, service, pay }
}

/** Of the service, or of the chain. */
const atStart = () => startMs

test.each([
  ['25 hours ahead', 25 * 60 * minuteMs, 'clock'],
  ['25 hours behind', -25 * 60 * minuteMs, 'clock'],
  ['a second too far ahead', clockSkewMs + 1_000, 'clock'],
  ['a second too far behind', -clockSkewMs - 1_000, 'clock'],
  ['10 minutes ahead', clockSkewMs, 'paid'],
  ['10 minutes behind', -clockSkewMs, 'paid'],
])('a clock that is %s of the service', async (_, aheadMs, end) => {
  const { pay, wallet, service, clock } = await walletAt(aheadMs)
  expect(await pay({ serviceNowMs: atStart })).toBe(end)
  expect(await wallet.receipts(9)).toHaveLength(end === 'paid' ? 1 : 0)
  expect(service.received).toHaveLength(end === 'paid' ? 1 : 0)
  if (end === 'paid') return
  // Set right, it pays.
  clock.advance(-aheadMs)
  expect(await pay({ serviceNowMs: atStart })).toBe('paid')
  const validBeforeMs = Number(readHeader(service.received[0] ?? '').authorization.validBefore) * 1_000
  expect(validBeforeMs).toBeLessThanOrEqual(startMs + 600_000)
})

test('a service that says no time refuses nothing', async () => {
  const { pay } = await walletAt(25 * 60 * minuteMs)
  expect(await pay({ serviceNowMs: null })).toBe('paid')
})

/** A node of Base with enough money, whose last block is of that time. */
const baseNode = (atMs: number, chainId = '0x2105') =>
  fakeNode({
    eth_chainId: () => chainId,
    eth_call: () => word(5_000_000n),
    eth_getBlockByNumber: () => ({ number: '0x1', timestamp: `0x${Math.floor(atMs / 1_000).toString(16)}` }),
  })

const local = { accepts: [option({ extra: { name: 'USD Coin (local)', version: '2' } })] }

test.each([
  ['the block is of the same time', 0, {}, '0x2105', 'paid'],
  ['the block is an hour behind', -60 * minuteMs, {}, '0x2105', 'clock'],
  ['the block is an hour ahead', 60 * minuteMs, {}, '0x2105', 'clock'],
  ['a local chain, which makes a block when somebody pays', -60 * minuteMs, local, '0x2105', 'paid'],
  ['a node of another chain', -60 * minuteMs, {}, '0x1', 'paid'],
] as const)('on Base, though the service agrees: %s', async (_, blockMs, changes, chainId, end) => {
  const node = await baseNode(startMs + blockMs, chainId)
  onTestFinished(() => void node.close())
  const { pay, service } = await walletAt(0, { nodes: { eip155: node.url } })
  expect(await pay({ serviceNowMs: atStart, ...changes })).toBe(end)
  expect(service.received).toHaveLength(end === 'paid' ? 1 : 0)
})

test.each([
  [0, 'paid'],
  [-60 * minuteMs, 'clock'],
])('on Solana, with a block of %i ms from now', async (blockMs, end) => {
  const node = await fakeNode({
    getGenesisHash: () => '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
    getAccountInfo: tokenAccount(5_000_000n),
    getEpochInfo: () => ({ absoluteSlot: 7, blockHeight: 5 }),
    getBlockTime: ([slot]) => (slot === 7 ? (startMs + blockMs) / 1_000 : null),
  })
  onTestFinished(() => void node.close())
  const { pay } = await walletAt(0, { key: solanaKey, nodes: { solana: node.url } })
  const accepts = [solanaOption()]
  // Its payee is not known, which is asked for after the clocks.
  expect(await pay({ accepts, serviceNowMs: atStart })).toBe(end === 'paid' ? undefined : end)
})
