/** An audit's requests to a node of an EVM chain, and how it interprets the answers. */
import { describe, expect, test } from 'vitest'
import { evmTransfers, type Payee, type Transfer, type TransferSource } from '#ledger/audit/audit-transfers.ts'
import { type NodeAnswer, scriptedNode } from './scripted-node.ts'

const asset = `0x${'aB'.repeat(20)}`
const payer = `0x${'0'.repeat(24)}${'cd'.repeat(20)}`
const stranger = `0x${'0'.repeat(24)}${'ee'.repeat(20)}`
const nonce = `0x${'0F'.repeat(32)}`
const payee: Payee = { network: 'eip155:8453', asset, account: `0x${'eF'.repeat(20)}` }
const payeeTopic = `0x${'0'.repeat(24)}${'ef'.repeat(20)}`
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const transaction = `0x${'11'.repeat(32)}`

const hex = (value: number) => `0x${value.toString(16)}`
const log = (logIndex: number, topics: string[], address = asset) => ({
  ...{ address, topics, data: hex(5_000_000), transactionHash: transaction, logIndex: hex(logIndex) },
})
const moved = (logIndex: number) => log(logIndex, [transferTopic, payer, payeeTopic])

const hourMs = 3_600_000
/** A block every 12 s. */
const timeOf = (block: number) => 1_700_000_000 + 12 * block

interface Chain {
  head: number
  /** Blocks with a transfer to the payee. */
  paid?: number[]
  receipt?: { logs: object[] } | null
  /** How many blocks the node looks through at once. */
  widest?: number
  ill?: (method: string) => NodeAnswer | null
}

/** A node of such a chain, and what it was asked for. */
async function nodeOf({ head, paid = [], receipt = null, widest = Number.MAX_SAFE_INTEGER, ill }: Chain) {
  const windows: [from: number, to: number][] = []
  const asked: string[] = []
  const answers: Record<string, (...params: never[]) => NodeAnswer> = {
    eth_chainId: () => ({ result: hex(8453) }),
    eth_blockNumber: () => ({ result: hex(head) }),
    eth_getBlockByNumber: (block: string, isWhole: boolean) => ({
      result: isWhole ? null : { timestamp: hex(timeOf(Number(block))) },
    }),
    eth_getLogs(filter: { address: string; topics: unknown[]; fromBlock: string; toBlock: string }) {
      const [from, to] = [Number(filter.fromBlock), Number(filter.toBlock)]
      expect([filter.address, filter.topics]).toEqual([asset, [transferTopic, null, payeeTopic]])
      if (to - from + 1 > widest) return { error: { code: -32005 } }
      windows.push([from, to])
      return { result: paid.filter(block => block >= from && block <= to).map(block => moved(block)) }
    },
    eth_getTransactionReceipt: () => ({ result: receipt }),
  }
  const url = await scriptedNode((method, params) => {
    asked.push(method)
    return ill?.(method) ?? answers[method]?.(...(params as never[])) ?? { error: { code: -32601 } }
  })
  return { windows, asked, source: evmTransfers(url) }
}

async function read(source: TransferSource, sinceMs = hourMs, of = payee): Promise<Transfer[]> {
  const found: Transfer[] = []
  for await (const each of source.transfers(of, sinceMs)) found.push(each)
  return found
}

async function transfersOf(chain: Chain, sinceBlock: number) {
  const node = await nodeOf(chain)
  return { ...node, found: await read(node.source, timeOf(sinceBlock) * 1_000 + hourMs) }
}

describe('blocks', () => {
  test.each([
    [
      'in windows of five thousand',
      11_499,
      1_500,
      [
        [1_500, 6_499],
        [6_500, 11_499],
      ],
    ],
    [
      'up to the head',
      7_000,
      1_500,
      [
        [1_500, 6_499],
        [6_500, 7_000],
      ],
    ],
    ['one alone, where it is the newest', 1_500, 1_500, [[1_500, 1_500]]],
    ['all, where the chain is younger', 3, -10, [[0, 3]]],
    ['the newest, where the chain is behind', 9, 20, [[9, 9]]],
  ])('are asked for from an hour before the first payment: %s', async (_rule, head, since, windows) => {
    expect((await transfersOf({ head }, since)).windows).toEqual(windows)
  })

  test('that come too many at once are asked for in halves, and none is left out', async () => {
    const { windows, found } = await transfersOf({ head: 9, widest: 3, paid: [0, 4, 5, 9] }, 0)
    expect(windows).toEqual([
      [0, 2],
      [3, 4],
      [5, 7],
      [8, 9],
    ])
    expect(found.map(({ transaction: hash, amount }) => [hash, amount])).toEqual(
      found.map(() => [transaction, 5_000_000n]),
    )
    expect(found).toHaveLength(4)
  })

  test('that the node refuses one by one end the audit', async () => {
    const { asked, source } = await nodeOf({ head: 1, widest: 0 })
    const reading = read(source)
    await expect(reading).rejects.toMatchObject({ message: 'The node refuses eth_getLogs (-32005).', refused: true })
    expect(asked.filter(method => method === 'eth_getLogs')).toHaveLength(2)
  })
})

describe('a node', () => {
  test('that does not answer for many blocks is not asked for fewer', { timeout: 60_000 }, async () => {
    const ill = (method: string) => (method === 'eth_getLogs' ? { status: 502, body: 'away' } : null)
    const { asked, source } = await nodeOf({ head: 9, ill })
    const reading = read(source)
    await expect(reading).rejects.toMatchObject({
      ...{ name: 'NodeFailed', message: 'The node does not answer eth_getLogs.', refused: false },
      cause: expect.any(SyntaxError),
    })
    expect(asked.filter(method => method === 'eth_getLogs')).toHaveLength(4)
  })

  test.each([
    ['that failed, whatever else it says', { status: 500, body: '{"result":"0x9"}' }],
    ['in words that are no answer', { status: 200, body: '["0x9"]' }],
  ])('is asked again after an answer %s', async (_rule, answer) => {
    let times = 0
    const ill = (method: string) => (method === 'eth_blockNumber' && ++times === 1 ? answer : null)
    const { windows } = await transfersOf({ head: 3, ill }, 0)
    expect([windows, times]).toEqual([[[0, 3]], 2])
  })

  test('of another chain is refused', async () => {
    const { source, asked } = await nodeOf({ head: 1 })
    const reading = read(source, 0, { ...payee, network: 'eip155:1' })
    await expect(reading).rejects.toMatchObject({
      message: 'The node serves the chain eip155:8453, not eip155:1.',
      refused: true,
    })
    expect(asked).toEqual(['eth_chainId'])
  })
})

describe('a transfer', () => {
  const keyAfter = async (logs: object[] | null) => {
    const { found } = await transfersOf({ head: 7, paid: [7], receipt: logs && { logs } }, 0)
    return found[0]?.paymentKey()
  }
  const used = (topics = [usedTopic, payer, nonce], address = asset) => log(6, topics, address)
  const key = `evm:8453:${asset}:0x${'cd'.repeat(20)}:${nonce}`.toLowerCase()

  const receipts: [rule: string, logs: object[] | null, key: string | null][] = [
    ['after its authorization is that payment', [used(), moved(7)], key],
    ['with something of another token between them too', [used(), log(6, [stranger], stranger), moved(7)], key],
    [
      'of one of several in a transaction is its own',
      [used([usedTopic, stranger, nonce]), moved(5), used(), moved(7)],
      key,
    ],
    ['without one is a gift', [moved(7)], null],
    ['after an event of another kind is a gift', [used([transferTopic, payer, nonce]), moved(7)], null],
    ['after the authorization of another payer is a gift', [used([usedTopic, stranger, nonce]), moved(7)], null],
    ['after one of another token is a gift', [used(undefined, stranger), moved(7)], null],
    ['after one that names no nonce is a gift', [used([usedTopic, payer]), moved(7)], null],
    ['after an authorization without a name is a gift', [used([usedTopic]), moved(7)], null],
    ['that comes before its authorization is a gift', [moved(7), used()], null],
    ['whose receipt is gone is a gift', null, null],
  ]
  test.each(receipts)('%s', async (_rule, logs, told) => {
    expect(await keyAfter(logs)).toBe(told)
  })
})
