import { type MicroUsd, microUsd } from '#contract/money.ts'
import { usdcOnSolana } from '#contract/wire/networks.ts'
import { LocalChainError, lockChainFolder, makeChainFolder, solanaFolderOf } from '../chain/folder.ts'
import { askChain } from '../chain/probe.ts'
import { type ChainOrigin, startChain } from '../chain/process.ts'
import { FUNDED_LAMPORTS } from '../limits.ts'
import { solana } from './subprocess.ts'

export interface LocalSolanaChainOptions {
  dataDir: string
  /** Where a new chain listens; 0, the default, picks a free port. A chain that runs already keeps its own. */
  port?: number
}

export interface LocalSolanaChain {
  rpcUrl: string
  origin: ChainOrigin
  /** For fees, up to a fixed sum. */
  fundSol(address: string): Promise<void>
  /** The wallet's token account, so that others can pay it; nothing where it is open. */
  openAccount(address: string): Promise<void>
  /** To the wallet's token account, which is opened where it has none. */
  mintUsdc(address: string, amountMicroUsd: bigint): Promise<void>
  balanceOf(address: string): Promise<MicroUsd>
  /** Ends the chain with its state saved. A process that ends without it leaves the chain running for the next. */
  stop(): Promise<void>
}

/**
 * The local Solana chain of a data folder, with USDC's mint in place: found running, resumed or new. One process at a
 * time owns it. Throws `LocalChainError`.
 */
export async function startLocalSolanaChain({ dataDir, port = 0 }: LocalSolanaChainOptions): Promise<LocalSolanaChain> {
  const folder = solanaFolderOf(dataDir)
  await makeChainFolder(folder)
  const lock = lockChainFolder(folder)
  try {
    const { rpcUrl, origin, stop } = await startChain(solana, folder, port)
    let stopped: Promise<void> | undefined
    return {
      rpcUrl,
      origin,
      async fundSol(address) {
        const { value } = (await askChain(rpcUrl, 'getBalance', [address])) as { value: number }
        if (value < FUNDED_LAMPORTS) await askChain(rpcUrl, 'requestAirdrop', [address, FUNDED_LAMPORTS - value])
      },
      async openAccount(address) {
        const filters = [address, { mint: usdcOnSolana }, { encoding: 'base64' }]
        const { value } = (await askChain(rpcUrl, 'getTokenAccountsByOwner', filters)) as { value: unknown[] }
        if (value.length === 0) await mintLocalUsdc(rpcUrl, address, 0n)
      },
      async mintUsdc(address, amountMicroUsd) {
        await mintLocalUsdc(rpcUrl, address, amountMicroUsd)
      },
      async balanceOf(address) {
        return microUsd(BigInt(String(await askChain(rpcUrl, 'farebox_usdcBalance', [address]))))
      },
      stop() {
        stopped ??= stop().finally(() => lock.release())
        return stopped
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** The transaction that made the money, and what the wallet has now. Throws `LocalChainError` where the chain refuses. */
export async function mintLocalUsdc(
  rpcUrl: string,
  address: string,
  amountMicroUsd: bigint,
): Promise<{ transaction: string; balanceMicroUsd: MicroUsd }> {
  try {
    const answer = await askChain(rpcUrl, 'farebox_mintUsdc', [address, `${amountMicroUsd}`])
    const { signature, balance } = answer as { signature: string; balance: string }
    return { transaction: signature, balanceMicroUsd: microUsd(BigInt(balance)) }
  } catch (cause) {
    throw new LocalChainError(
      'The local Solana chain mints up to 1000000000 USD at once, for an address in base58; ask again with such.',
      { cause },
    )
  }
}
