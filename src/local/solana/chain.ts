import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { usdcOnSolana } from '#contract/wire/networks.ts'
import { LocalChainError, lockChainFolder, makeChainFolder, solanaFolderOf } from '../chain/folder.ts'
import { askChain, askFacts, type ChainOrigin, type ChainProgram, startChain } from '../chain/process.ts'
import { FUNDED_LAMPORTS } from '../limits.ts'

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
      'The local Solana chain mints up to 1000000000 USD at once, for an address in base58; use such values.',
      { cause },
    )
  }
}

/** The Solana chain: this very program, running litesvm in a process of its own. */
export const solana: ChainProgram = {
  name: 'the Solana chain',
  command(folder, port) {
    const problem = solanaProblem()
    if (problem) throw new LocalChainError(problem)
    return [process.execPath, fileURLToPath(solanaProcessUrl()), folder.state, String(port)]
  },
  portTaken: /EADDRINUSE/,
  async instanceOf(url) {
    const { instanceId } = await askFacts(url, 'farebox_chain')
    return typeof instanceId === 'string' ? instanceId : null
  },
}

/**
 * Why there can be no local Solana chain here, as a sentence; null where there can. litesvm is an optional package, and
 * its binary lies in another one for each platform, of which there is none for some.
 */
export function solanaProblem(
  resolve: (specifier: string, from: string) => string = (specifier, from) => createRequire(from).resolve(specifier),
  platform: string = process.platform,
  architecture: string = process.arch,
): string | null {
  let litesvm: string
  try {
    litesvm = resolve('litesvm', import.meta.url)
  } catch {
    return 'The package litesvm is not installed, so there is no local Solana chain; install it with npm install litesvm.'
  }
  const names = [
    `litesvm-${platform}-${architecture}`,
    `litesvm-${platform}-${architecture}-gnu`,
    `litesvm-${platform}-${architecture}-musl`,
  ]
  const isThere = names.some(name => {
    try {
      return resolve(name, litesvm) !== ''
    } catch {
      return false
    }
  })
  return isThere
    ? null
    : `litesvm has no binary for ${platform} on ${architecture} here, so there is no local Solana chain.`
}

/** What the bundle calls the file of that process; the build makes it an entry point beside the others. */
const bundledName = './solana-chain-process.js'

/** The one place that knows where the chain's process starts: its source in a checkout, a file of its own in the bundle. */
export const solanaProcessUrl = (): URL =>
  import.meta.url.endsWith('.ts') ? new URL('./process.ts', import.meta.url) : new URL(bundledName, import.meta.url)
