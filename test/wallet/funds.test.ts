import { expect, onTestFinished, test } from 'vitest'
import { evmNetwork, solanaNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import { nodesInUse, publicNodes } from '#wallet/chains/nodes.ts'
import { deadMarginMs, lookTimeoutMs, noNode } from '#wallet/limits.ts'
import { defaultRails } from '#wallet/rules/policy.ts'
import { localServer } from '../local-server.ts'
import { fakeNode, payee, solanaKey, solanaOption, tokenAccount } from './sample-solana.ts'
import { fakeService, option, order, payTo, sampleWallet } from './sample-wallet.ts'

const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`
const genesis = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'

const base = async (units: bigint) => {
  const node = await fakeNode({ eth_chainId: () => '0x2105', eth_call: () => word(units) })
  onTestFinished(() => void node.close())
  return { eip155: node.url }
}
const solana = async (units: bigint | null) => {
  const node = await fakeNode({ getGenesisHash: () => genesis, getAccountInfo: tokenAccount(units) })
  onTestFinished(() => void node.close())
  return { solana: node.url }
}

const payees = [
  { network: evmNetwork, asset: usdcOnEvm, payTo },
  { network: solanaNetwork, asset: usdcOnSolana, payTo: payee },
]

test.each([
  ['Base', '0.00', '5', 0n],
  ['Base', '2.50', '2.50', 2_500_000n],
  ['Base', '4.999999', '0.000001', 4_999_999n],
  ['Solana', '0.00', '5', 0n],
  ['Solana', '0.00', '5', null],
] as const)(
  'an empty wallet on %s, with %s, signs nothing and says what to send',
  async (chain, held, missing, units) => {
    const isOnBase = chain === 'Base'
    const nodes = isOnBase ? await base(units ?? 0n) : await solana(units)
    const { wallet, dispose } = await sampleWallet({ payees }, { nodes, ...(isOnBase ? {} : { key: solanaKey }) })
    onTestFinished(dispose)
    const service = fakeService(wallet.address, 'reject')
    const accepts = [isOnBase ? option() : solanaOption()]
    const refusal = await wallet.pay(order({ accepts }), service.send).catch(error => error)
    expect(refusal).toMatchObject({ rule: 'funds' })
    expect(refusal.message).toBe(
      `The wallet holds ${held} USDC. Send at least ${missing} to ${wallet.address} on ${chain}.`,
    )
    expect(service.received).toEqual([])
    expect(await wallet.receipts(9)).toEqual([])
    expect(await wallet.status()).toMatchObject({ spentTotalMicroUsd: 0n, reservedTotalMicroUsd: 0n })
  },
)

// All that is asked of it is asked at once, so the test's own time is enough for one wait.
test('a node that is silent refuses nothing, and is not waited for', {
  timeout: 2 * lookTimeoutMs + 2_000,
}, async () => {
  const silent = await localServer(() => {})
  onTestFinished(silent.close)
  const nodes = { eip155: silent.url }
  const { wallet, dispose } = await sampleWallet({}, { nodes })
  onTestFinished(dispose)
  await wallet.pay(order(), fakeService(wallet.address, 'credit').send)
  expect(await wallet.receipts(9)).toMatchObject([{ state: 'confirmed' }])
})

test('a refused payment that the node confirms as never taken is free again', async () => {
  let blockMs = Date.UTC(2026, 10, 21)
  const name = Buffer.from('USD Coin').toString('hex').padEnd(64, '0')
  const node = await fakeNode({
    eth_chainId: () => '0x2105',
    eth_getBlockByNumber: () => ({ number: '0x1', timestamp: `0x${(blockMs / 1_000).toString(16)}` }),
    eth_call: ([call]) => {
      const { data } = call as { data: string }
      if (data.startsWith('0x06fdde03')) return `${word(32n)}${word(8n).slice(2)}${name}`
      return data.startsWith('0xe94a0102') ? word(0n) : word(20_000_000n)
    },
  })
  onTestFinished(() => void node.close())
  const { wallet, clock, dispose } = await sampleWallet({ maxDayUsd: '5' }, { nodes: { eip155: node.url } })
  onTestFinished(dispose)
  const { send } = fakeService(wallet.address, 'reject', 'reject', 'credit')
  await expect(wallet.pay(order(), send)).rejects.toMatchObject({ rule: 'payment-rejected' })
  expect(await wallet.status()).toMatchObject({ leftMicroUsd: 0n, reservedDayMicroUsd: 5_000_000n })
  const laterMs = 300_000 + deadMarginMs + 1_000
  clock.advance(laterMs)
  blockMs += laterMs
  await wallet.pay(order(), send)
  expect((await wallet.receipts(9)).map(({ state, counts }) => [state, counts])).toEqual([
    ['confirmed', true],
    ['dead', false],
  ])
})

const publicService = 'https://service.example'
const real = ['USD Coin']

test.each([
  ['a public service', {}, publicService, real, publicNodes],
  ['a public service whose offer is not known yet', {}, publicService, [], publicNodes],
  [
    'a named node',
    { eip155: 'https://mine.example/key' },
    publicService,
    real,
    { ...publicNodes, eip155: 'https://mine.example/key' },
  ],
  ['nobody', { eip155: noNode, solana: noNode }, publicService, real, { eip155: undefined, solana: undefined }],
  ['no payee for one chain', { solana: noNode }, publicService, real, { ...publicNodes, solana: undefined }],
  ['a service of this machine', {}, 'http://127.0.0.1:8402', real, { eip155: undefined, solana: undefined }],
  ['a service of this machine by name', {}, 'https://localhost', real, { eip155: undefined, solana: undefined }],
  [
    'a named node for a service of this machine',
    { eip155: 'http://127.0.0.1:1' },
    'http://127.0.0.1:8402',
    real,
    { eip155: 'http://127.0.0.1:1', solana: undefined },
  ],
  [
    'a token that is not the network’s own',
    {},
    publicService,
    ['USD Coin (local)'],
    { eip155: undefined, solana: undefined },
  ],
  ['one of them that is not', {}, publicService, ['USD Coin', 'USDC'], { eip155: undefined, solana: undefined }],
] as const)('which nodes may be asked: %s', (_, given, origin, tokenNames, nodes) => {
  expect(nodesInUse(given, { origin, rails: defaultRails, tokenNames })).toEqual(nodes)
})

test('a rail that the policy does not have is not asked about', () => {
  const money = { origin: publicService, rails: defaultRails.slice(1), tokenNames: [] }
  expect(nodesInUse({}, money)).toEqual({ ...publicNodes, eip155: undefined })
})
