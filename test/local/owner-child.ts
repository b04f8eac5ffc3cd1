import { startLocalEvmChain } from '#local/evm/chain.ts'

/** A process that owns the chain of the folder in its first argument until it is killed; it says where the chain is. */
const [dataDir = '', address = ''] = process.argv.slice(2)
const chain = await startLocalEvmChain({ dataDir })
await chain.mintUsdc(address as `0x${string}`, 3_000_000n)
process.stdout.write(`${JSON.stringify({ rpcUrl: chain.rpcUrl, origin: chain.origin })}\n`)
setInterval(() => {}, 60_000)
