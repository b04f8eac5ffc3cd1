import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { microUsd } from '#contract/money.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import type { CommandIo } from '../command.ts'
import { localEvm, localSolana } from '../data/local-chains.ts'
import { withDataFlag } from './owner-wallet.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Adds the nodes of `farebox up`'s local chains to an environment, if the wallet's folder is inside the folder of one
 * and its service is on this machine too. Existing settings stay.
 */
export async function withLocalNodes(env: Environment, baseUrl: string, dataFolder: string): Promise<Environment> {
  const root = folderOfUp(baseUrl, dataFolder)
  if (root === null) return env
  const [evm, solana] = await Promise.all([
    env.FAREBOX_EVM_RPC_URL || localEvm(root),
    env.FAREBOX_SOLANA_RPC_URL || localSolana(root),
  ])
  return { ...env, FAREBOX_EVM_RPC_URL: evm ?? undefined, FAREBOX_SOLANA_RPC_URL: solana ?? undefined }
}

/** Returns a command's environment with these nodes, for the wallet that `--data` names. */
export async function besideChain(io: CommandIo, data: string | undefined): Promise<CommandIo> {
  const { baseUrlOf, dataFolderOf } = await import('#agent/settings/wallet-settings.ts')
  const env = withDataFlag(io.env, data)
  const beside = await withLocalNodes(env, baseUrlOf(env), dataFolderOf(env))
  return { ...io, env: { ...io.env, ...beside } }
}

/** Wallet folders next to the chains of `farebox up`: of its own agent, and of a client set up by `install --local`. */
const walletsOfUp: readonly string[] = ['agent', 'assistant']

/**
 * Returns the folder of `farebox up` that contains the wallet's folder; null if none does, or its service is elsewhere.
 */
export function folderOfUp(baseUrl: string, dataFolder: string): string | null {
  const root = dirname(dataFolder)
  const isOfUp = walletsOfUp.includes(basename(dataFolder)) && existsSync(join(root, 'chain'))
  return isOfUp && isLoopback(new URL(baseUrl).hostname) ? root : null
}

/** Returns the deposit of a new wallet on the local chain of `farebox up`; null for any other wallet. */
export function testMoneyFor(baseUrl: string, dataFolder: string): ((address: string) => Promise<void>) | null {
  const root = folderOfUp(baseUrl, dataFolder)
  if (root === null) return null
  return async address => {
    const { fundFromFaucet } = await import('#local/faucet.ts')
    await fundFromFaucet({ dataDir: root, address, amountMicroUsd: testMoneyMicroUsd })
  }
}

/** Twice the smallest top-up. */
export const testMoneyMicroUsd = microUsd(10_000_000n)
