/** What a call costs beside the others, by how much a node works for it. */
export type RpcTier = 1 | 2 | 4

const ordinary = [
  ...['eth_blockNumber', 'eth_chainId', 'eth_syncing', 'eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_blobBaseFee'],
  ...['eth_feeHistory', 'eth_getBalance', 'eth_getCode', 'eth_getStorageAt', 'eth_getTransactionCount'],
  ...['eth_getBlockByHash', 'eth_getBlockByNumber', 'eth_getBlockTransactionCountByHash'],
  ...['eth_getBlockTransactionCountByNumber', 'eth_getUncleByBlockHashAndIndex', 'eth_getUncleByBlockNumberAndIndex'],
  ...['eth_getUncleCountByBlockHash', 'eth_getUncleCountByBlockNumber', 'eth_getTransactionByHash'],
  ...['eth_getTransactionByBlockHashAndIndex', 'eth_getTransactionByBlockNumberAndIndex', 'eth_getTransactionReceipt'],
  ...['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction', 'net_version', 'web3_clientVersion', 'web3_sha3'],
]
const large = ['eth_getLogs', 'eth_getBlockReceipts', 'eth_getProof', 'eth_createAccessList']
const traces = ['trace_block', 'trace_call', 'trace_filter', 'trace_get', 'trace_transaction']

/**
 * All methods that a node is asked. What is not here never reaches one: keys of the node, its administration, its debugger,
 * and what it would have to remember for a caller.
 */
const tiers: ReadonlyMap<string, RpcTier> = new Map<string, RpcTier>([
  ...ordinary.map(method => [method, 1] as const),
  ...large.map(method => [method, 2] as const),
  ...traces.map(method => [method, 4] as const),
])

/** Null for a method that no node is asked. */
export const tierOf = (method: string): RpcTier | null => tiers.get(method) ?? null
