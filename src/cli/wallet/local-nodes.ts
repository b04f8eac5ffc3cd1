import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isLoopback } from '#contract/wire/network-address.ts'
import { localEvm, localSolana } from '../chain-nodes.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * An environment that names the nodes of the local chains of `farebox up`, where the wallet's folder lies in the folder of
 * one and its service is on this machine too. What is set already stays.
 */
export async function withLocalNodes(env: Environment, baseUrl: string, stateFolder: string): Promise<Environment> {
  const root = dirname(stateFolder)
  const isOfUp = basename(stateFolder) === 'agent' && existsSync(join(root, 'chain'))
  if (!isOfUp || !isLoopback(new URL(baseUrl).hostname)) return env
  const [evm, solana] = await Promise.all([
    env.FAREBOX_EVM_RPC_URL || localEvm(root),
    env.FAREBOX_SOLANA_RPC_URL || localSolana(root),
  ])
  return { ...env, FAREBOX_EVM_RPC_URL: evm ?? undefined, FAREBOX_SOLANA_RPC_URL: solana ?? undefined }
}
