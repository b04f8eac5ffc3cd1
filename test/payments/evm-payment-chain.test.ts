/** What became of a payment, read from what a node says; the node is told here, look by look. */
import { afterEach, describe, expect, test } from 'vitest'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { openEvmPaymentChain } from '#payments/evm/evm-payment-chain.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import { ChainUnavailable } from '#payments/payment/payment.ts'
import { type Question, type Said, startScriptedNode } from './scripted-node.ts'

const transferEvent = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const usedEvent = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const canceledEvent = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'

const from = `0x${'a1'.repeat(20)}`
const payTo = `0x${'Cc'.repeat(20)}`
const nonce = `0x${'ee'.repeat(32)}`
const hash = `0x${'AB'.repeat(32)}`
const word = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
const hex = (number: number) => `0x${number.toString(16)}`

const option: PaymentOption = {
  ...{ scheme: 'exact', network: evmNetwork, amount: '5000000', asset: usdcOnEvm, payTo, maxTimeoutSeconds: 300 },
}
const authorization = { from, to: payTo.toLowerCase(), value: '5000000', validAfter: '0', validBefore: '9', nonce }
const payment: EvmPayment = { rail: 'evm', key: 'k', option, authorization, signature: '0x' }

interface Log {
  address?: string
  topics?: string[]
  data?: string
}
const used = (changes: Log = {}): Log => ({ topics: [usedEvent, word(from), nonce], data: '0x', ...changes })
const transfer = (changes: Log = {}): Log => ({
  ...{ topics: [transferEvent, word(from), word(payTo)], data: hex(5_000_000) },
  ...changes,
})

const place = { blockNumber: hex(100), blockHash: hash, transactionHash: hash, transactionIndex: '0x0' }
const receipt = (logs: Log[], status = '0x1') => ({
  ...{ ...place, status, from, to: usdcOnEvm, contractAddress: null, type: '0x2', logsBloom: '0x' },
  ...{ gasUsed: '0x1', cumulativeGasUsed: '0x1', effectiveGasPrice: '0x1' },
  logs: logs.map((log, index) => ({
    address: usdcOnEvm.toLowerCase(),
    ...place,
    logIndex: hex(index),
    removed: false,
    ...log,
  })),
})

/** A chain whose head is block 105, by what it has. Blocks are two seconds apart. */
interface Chain {
  head?: number
  receipt?: object | null
  isUsed?: boolean
  /** The event of the nonce, where a search of these blocks comes by it. */
  event?: { block: number; topic?: string } | null
  fails?: string
  /** The most blocks for which the node lists events. */
  listsAtMost?: number
  /** The words in which it refuses more. */
  refuses?: string
}

let close: () => Promise<void> = async () => undefined
afterEach(() => close())

async function find(chain: Chain, transaction: string | null = hash, confirmations = 5, of = payment) {
  const { head = 105, event = null } = chain
  const say = ({ method, params: [first] }: Question): Said => {
    if (method === chain.fails) return null
    const number = (of: unknown) => (of === 'latest' ? head : Number(of))
    const block = (height: number) => ({ result: { number: hex(height), timestamp: hex(1_000 + 2 * height), hash } })
    switch (method) {
      case 'eth_getTransactionReceipt':
        return { result: chain.receipt ?? null }
      case 'eth_blockNumber':
        return { result: hex(head) }
      case 'eth_getBlockByHash':
        return block(100)
      case 'eth_getBlockByNumber':
        return block(number(first))
      case 'eth_call':
        return { result: hex(Number(chain.isUsed ?? false)).replace('0x', `0x${'0'.repeat(63)}`) }
      case 'eth_getLogs': {
        const { fromBlock, toBlock } = first as { fromBlock: string; toBlock: string }
        const listsAtMost = chain.listsAtMost ?? 10_000
        if (Number(toBlock) - Number(fromBlock) >= listsAtMost) {
          return { error: { code: -32600, message: chain.refuses ?? `up to a ${listsAtMost} block range` } }
        }
        const isThere = event && Number(fromBlock) <= event.block && event.block <= Number(toBlock)
        const log = event && { ...place, blockNumber: hex(event.block), topics: [event.topic ?? usedEvent] }
        return { result: isThere ? [log] : [] }
      }
      default:
        return { error: { code: -32601, message: method } }
    }
  }
  const node = await startScriptedNode(say)
  close = node.close
  const opened = await openEvmPaymentChain({ rpcUrl: node.url, confirmations })
  const found = await opened.find(of, transaction).catch((error: unknown) => error)
  return { found, asked: node.asked }
}

const landed = { state: 'landed', transaction: hash.toLowerCase(), amount: 5_000_000n, atSeconds: 1_200 }

describe('a transaction that is known', () => {
  const rows: [rule: string, logs: Log[], isLanded: boolean][] = [
    ['with the transfer right after the use of its nonce', [used(), transfer()], true],
    ['with events of others before and after', [transfer(), used(), transfer(), used()], true],
    ['with events of another token between them', [used(), { address: payTo, topics: [] }, transfer()], true],
    ['without a transfer', [used()], false],
    ['with the transfer before it alone', [transfer(), used()], false],
    ['with no event at all', [], false],
    ['with the transfer of another token', [used(), transfer({ address: payTo })], false],
    ['with another nonce', [used({ topics: [usedEvent, word(from), hash] }), transfer()], false],
    ['with the nonce of another payer', [used({ topics: [usedEvent, word(payTo), nonce] }), transfer()], false],
    ['with another event of the nonce', [used({ topics: [canceledEvent, word(from), nonce] }), transfer()], false],
    [
      'with a transfer of another payer',
      [used(), transfer({ topics: [transferEvent, word(payTo), word(payTo)] })],
      false,
    ],
    [
      'with a transfer to another payee',
      [used(), transfer({ topics: [transferEvent, word(from), word(from)] })],
      false,
    ],
    [
      'with an event that is not a transfer',
      [used(), transfer({ topics: [usedEvent, word(from), word(payTo)] })],
      false,
    ],
    ['with the second event after it', [used(), used(), transfer()], false],
  ]
  test.each(rows)('%s', async (_rule, logs, isLanded) => {
    const { found } = await find({ receipt: receipt(logs) })
    expect(found).toEqual(isLanded ? landed : { state: 'open', chainTimeSeconds: 1_200 })
  })

  test('counts by what has come, and not where it failed', async () => {
    const some = transfer({ data: hex(7) })
    expect((await find({ receipt: receipt([used(), some]) })).found).toEqual({ ...landed, amount: 7n })
    expect((await find({ receipt: receipt([used(), some], '0x0') })).found).toMatchObject({ state: 'open' })
  })

  test.each([
    ['five blocks after it are enough of five', 105, 5, 'landed'],
    ['four are not', 104, 5, 'unconfirmed'],
    ['a node that is behind will do where none are asked for', 99, 0, 'landed'],
  ])('%s', async (_rule, head, confirmations, state) => {
    expect((await find({ head, receipt: receipt([used(), transfer()]) }, hash, confirmations)).found).toMatchObject({
      state,
    })
  })
})

describe('a nonce', () => {
  test('that is unused is open, and the time told is that of the deepest block which stays', async () => {
    const { found, asked } = await find({}, null)
    expect(found).toEqual({ state: 'open', chainTimeSeconds: 1_200 })
    const call = asked.find(({ method }) => method === 'eth_call')
    expect(call?.params).toMatchObject([{ to: usdcOnEvm }, hex(105)])
    expect(JSON.stringify(call)).toContain(`${word(from).slice(2)}${nonce.slice(2)}`)
    expect(asked.some(({ method }) => method === 'eth_getTransactionReceipt')).toBe(false)
  })

  test('is open at the head’s own time where no depth is asked for, and from the first block on', async () => {
    expect((await find({}, null, 0)).found).toEqual({ state: 'open', chainTimeSeconds: 1_210 })
    expect((await find({ head: 5 }, null)).found).toEqual({ state: 'open', chainTimeSeconds: 1_000 })
    expect((await find({ head: 4 }, null)).found).toEqual({ state: 'open', chainTimeSeconds: 1_000 })
  })

  const isUsed = true
  const events: [rule: string, chain: Chain, found: object][] = [
    ['by our transfer', { event: { block: 100 }, receipt: receipt([used(), transfer()]) }, landed],
    ['by another transfer', { event: { block: 100 }, receipt: receipt([used()]) }, { state: 'void' }],
    ['by being cancelled', { event: { block: 100, topic: canceledEvent } }, { state: 'void' }],
    ['in a block that may still go', { event: { block: 101 } }, { state: 'unconfirmed' }],
    ['and cancelled in such a block', { event: { block: 101, topic: canceledEvent } }, { state: 'unconfirmed' }],
    ['in the first block', { event: { block: 0 }, receipt: receipt([used()]) }, { state: 'void' }],
    ['long ago', { head: 12_000, event: { block: 3 }, receipt: receipt([used()]) }, { state: 'void' }],
    [
      'half a million blocks ago',
      { head: 500_105, event: { block: 106 }, receipt: receipt([used()]) },
      { state: 'void' },
    ],
  ]
  test.each(events)('is used %s', async (_rule, chain, found) => {
    expect((await find({ isUsed, ...chain }, null)).found).toEqual(found)
  })

  const unknown: [rule: string, chain: Chain][] = [
    [
      'its event is further back than is searched',
      { head: 500_105, event: { block: 105 }, receipt: receipt([used()]) },
    ],
    ['its event is nowhere', {}],
    ['its event is there and its receipt is not', { event: { block: 100 } }],
    ['the node breaks off', { fails: 'eth_getLogs' }],
  ]
  test.each(unknown)('is used for an unknown purpose if %s', async (_rule, chain) => {
    const { found } = await find({ isUsed, ...chain }, null)
    expect(found).toBeInstanceOf(ChainUnavailable)
    expect(found).toMatchObject({ cause: { message: expect.any(String) } })
  })

  test('is searched backwards in windows of 5,000 blocks without a gap, each asked for once', async () => {
    const { asked } = await find({ isUsed, head: 12_000 }, null)
    const windows = asked.filter(({ method }) => method === 'eth_getLogs').map(({ params: [filter] }) => filter)
    const filter = {
      address: usdcOnEvm,
      topics: [[usedEvent, canceledEvent], word(from), nonce],
    }
    expect(windows).toEqual([
      { ...filter, fromBlock: hex(7_001), toBlock: hex(12_000) },
      { ...filter, fromBlock: hex(2_001), toBlock: hex(7_000) },
      { ...filter, fromBlock: hex(0), toBlock: hex(2_000) },
    ])
  })
})

describe('a node that lists the events of few blocks at once', () => {
  const isUsed = true
  const ours = { isUsed, event: { block: 100 }, receipt: receipt([used(), transfer()]) }
  /** Blocks are two seconds apart, and this payment ends before block 110. */
  const untilBlock110 = { ...payment, authorization: { ...authorization, validBefore: '1220' } }
  const windowsOf = (asked: Question[]) =>
    asked.flatMap(({ method, params: [filter] }) => {
      const { fromBlock, toBlock } = (filter ?? {}) as { fromBlock: string; toBlock: string }
      return method === 'eth_getLogs' ? [[Number(fromBlock), Number(toBlock)]] : []
    })

  test.each([500, 10, 5])('still has that of a payment that was just made: %d blocks', async listsAtMost => {
    const { found } = await find({ ...ours, head: 10_100, event: { block: 10_090 }, listsAtMost }, null)
    expect(found).toEqual(landed)
  })

  test('is asked for smaller windows until it lists one', async () => {
    const { found, asked } = await find({ ...ours, listsAtMost: 10 }, null)
    expect(found).toEqual(landed)
    expect(windowsOf(asked)).toEqual([
      [0, 105],
      [0, 105],
      [56, 105],
      [101, 105],
      [96, 100],
    ])
  })

  test('is asked from the end of a payment that is long over', async () => {
    const { found, asked } = await find({ ...ours, head: 300_000, listsAtMost: 5 }, null, 5, untilBlock110)
    expect(found).toEqual(landed)
    expect(windowsOf(asked).slice(-2)).toEqual([
      [105, 109],
      [100, 104],
    ])
  })

  test.each([
    ['refuses every window', undefined, 4],
    ['refuses because it gets too many requests', 'Too Many Requests', 1],
  ])('and %s tells nothing', async (_rule, refuses, requests) => {
    const { found, asked } = await find({ ...ours, listsAtMost: 0, ...(refuses ? { refuses } : {}) }, null)
    expect(found).toBeInstanceOf(ChainUnavailable)
    expect(windowsOf(asked)).toHaveLength(requests)
  })
})

test.each(['eth_getTransactionReceipt', 'eth_blockNumber', 'eth_getBlockByHash'])(
  'where %s is not answered, nothing is known, and it was asked twice',
  async fails => {
    const { found, asked } = await find({ fails, receipt: receipt([used(), transfer()]) })
    expect(found).toBeInstanceOf(ChainUnavailable)
    expect(asked.filter(({ method }) => method === fails)).toHaveLength(2)
  },
)

test.each([-1, 1_001, 1.5, Number.NaN])('%d confirmations are refused at start', async confirmations => {
  await expect(openEvmPaymentChain({ rpcUrl: 'http://127.0.0.1:9', confirmations })).rejects.toThrow(/from 0 to 1000/)
})
