import { createPublicClient, http, parseAbiItem } from 'viem'

/** A token transfer to the payee by a payment's authorization. */
export interface Transfer {
  nonce: string
  from: string
  amount: bigint
  transaction: string
}

const usedEvent = parseAbiItem('event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)')
const transferEvent = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)')

/** From the events of the chain alone. A transfer without an authorization has no nonce and stands by its transaction. */
export async function readTransfers(rpcUrl: string, token: string, payee: string): Promise<Transfer[]> {
  const client = createPublicClient({ transport: http(rpcUrl) })
  const range = { address: token as `0x${string}`, fromBlock: 0n, toBlock: 'latest' } as const
  const [used, transfers] = await Promise.all([
    client.getLogs({ ...range, event: usedEvent }),
    client.getLogs({ ...range, event: transferEvent, args: { to: payee as `0x${string}` } }),
  ])
  // An authorization's own event stands right before its transfer.
  const nonces = new Map(used.map(log => [`${log.transactionHash}:${log.logIndex + 1}`, log.args.nonce]))
  return transfers.map(log => ({
    nonce: nonces.get(`${log.transactionHash}:${log.logIndex}`) ?? log.transactionHash,
    from: (log.args.from ?? '').toLowerCase(),
    amount: log.args.value ?? 0n,
    transaction: log.transactionHash,
  }))
}
