import { z } from 'zod'
import { chainClockMs, chainWindowBlocks } from '../bounds.ts'
import { askNode, NodeFailed, type Payee, type Transfer, type TransferSource } from './audit-transfers.ts'

/** keccak256 of `Transfer(address,address,uint256)` and of `AuthorizationUsed(address,bytes32)`. */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'

const Quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/i)
  .transform(BigInt)
const Hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/i)
  .transform(text => text.toLowerCase())
const Log = z.object({
  address: z.string().transform(text => text.toLowerCase()),
  topics: z.array(Hash),
  data: z.string(),
  transactionHash: Hash,
  logIndex: Quantity,
})
type Log = z.output<typeof Log>
const Block = z.object({ timestamp: Quantity })
const Receipt = z.object({ logs: z.array(Log) }).nullable()

/** Transfers of a token on an EVM chain, by its events. */
export function evmTransfers(rpcUrl: string): TransferSource {
  const ask = <Result>(method: string, params: readonly unknown[], result: z.ZodType<Result>) =>
    askNode(rpcUrl, method, params, result)

  /** The first block of that time or later. */
  async function blockAt(sinceMs: number, head: bigint): Promise<bigint> {
    let [low, high] = [0n, head]
    while (low < high) {
      const middle = (low + high) / 2n
      const { timestamp } = await ask('eth_getBlockByNumber', [hex(middle), false], Block)
      if (timestamp * 1000n < BigInt(sinceMs)) low = middle + 1n
      else high = middle
    }
    return low
  }

  /** Nodes bound their answers by blocks or by rows and say so in many ways: what is refused is asked in halves. */
  async function* logsBetween(payee: Payee, from: bigint, to: bigint): AsyncGenerator<Log> {
    const topics = [transferTopic, null, `0x${payee.account.slice(2).toLowerCase().padStart(64, '0')}`]
    const filter = { address: payee.asset, topics, fromBlock: hex(from), toBlock: hex(to) }
    const logs = await ask('eth_getLogs', [filter], z.array(Log)).catch(error => {
      if (error instanceof NodeFailed && error.refused && from < to) return null
      throw error
    })
    if (logs) return yield* logs
    const middle = (from + to) / 2n
    yield* logsBetween(payee, from, middle)
    yield* logsBetween(payee, middle + 1n, to)
  }

  /** The token writes `AuthorizationUsed` right before the `Transfer` of that authorisation. */
  async function paymentKey({ network, asset }: Payee, log: Log): Promise<string | null> {
    const receipt = await ask('eth_getTransactionReceipt', [log.transactionHash], Receipt)
    const logs = (receipt?.logs ?? []).filter(each => each.address === asset.toLowerCase())
    const before = logs[logs.findIndex(each => each.logIndex === log.logIndex) - 1]
    const [event, from, nonce] = before?.topics ?? []
    if (event !== usedTopic || from === undefined || nonce === undefined || from !== log.topics[1]) return null
    const chainId = network.slice(network.indexOf(':') + 1)
    return `evm:${chainId}:${asset}:0x${from.slice(-40)}:${nonce}`.toLowerCase()
  }

  return {
    async *transfers(payee, sinceMs) {
      const chainId = await ask('eth_chainId', [], Quantity)
      if (payee.network !== `eip155:${chainId}`) {
        throw new NodeFailed(`The node is one of the chain eip155:${chainId}, not of ${payee.network}.`, true)
      }
      const head = await ask('eth_blockNumber', [], Quantity)
      for (let from = await blockAt(sinceMs - chainClockMs, head); from <= head; from += chainWindowBlocks) {
        const last = from + chainWindowBlocks - 1n
        for await (const log of logsBetween(payee, from, last < head ? last : head)) {
          const key = () => paymentKey(payee, log)
          yield { transaction: log.transactionHash, amount: BigInt(log.data), paymentKey: key } satisfies Transfer
        }
      }
    },
  }
}

const hex = (value: bigint): string => `0x${value.toString(16)}`
