import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { usdcOnSolana } from '#contract/wire/networks.ts'
import { LocalChainError, lockChainFolder, makeChainFolder, solanaFolderOf } from '../chain/folder.ts'
import { askChain, askFacts, type ChainOrigin, type ChainProgram, startChain } from '../chain/process.ts'
import { FUNDED_LAMPORTS } from '../limits.ts'

export interface LocalSolanaChainOptions {
  dataDir: string
  /** The port of a new chain; 0, the default, picks a free one. A running chain keeps its own. */
  port?: number
}

export interface LocalSolanaChain {
  rpcUrl: string
  origin: ChainOrigin
  /** Tops up SOL for fees to a fixed amount. */
  fundSol(address: string): Promise<void>
  /** Opens the wallet's token account, so that it can be paid; does nothing if it is open. */
  openAccount(address: string): Promise<void>
  /** Mints to the wallet's token account, which is opened if needed. */
  mintUsdc(address: string, amountMicroUsd: bigint): Promise<void>
  balanceOf(address: string): Promise<MicroUsd>
  /**
   * Stops the chain with its state saved. A process that ends without calling it leaves the chain running for the next.
   */
  stop(): Promise<void>
}

/**
 * Returns the local Solana chain of a data folder, with USDC's mint installed: found running, resumed or new. Only one
 * process owns it. Throws `LocalChainError`.
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

/** Returns the minting transaction and the wallet's new balance. Throws `LocalChainError` if the chain refuses. */
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
      'The local Solana chain mints between 0.000001 and 1000000000 USD at a time, to a base58 address; choose an amount in that range, and check the address.',
      { cause },
    )
  }
}

/** The Solana chain: this program itself, running litesvm in a separate process. */
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
 * Returns why a local Solana chain is impossible here, as a sentence; null if it is possible. litesvm is an optional
 * package whose binary is in a separate package for each supported platform.
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
    if (platform === 'win32') return 'litesvm has no package for Windows, so there is no local Solana chain.'
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
    : `The binary of litesvm for ${platform} on ${architecture} is not installed, so there is no local Solana chain; run npm install without --omit=optional on a platform that litesvm supports.`
}

/** The bundled file of that process; the build makes it an entry point of its own. */
const bundledName = './solana-chain-process.js'

/** The entry point of the chain's process: its source in a checkout, a separate file in the bundle. */
const solanaProcessUrl = (): URL =>
  import.meta.url.endsWith('.ts') ? new URL('./process.ts', import.meta.url) : new URL(bundledName, import.meta.url)
