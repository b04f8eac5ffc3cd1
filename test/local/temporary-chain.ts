import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { chainFolderOf } from '#local/chain/folder.ts'
import { findChain } from '#local/chain/process.ts'
import { anvil } from '#local/evm/anvil.ts'
import { type LocalEvmChain, type LocalEvmChainOptions, startLocalEvmChain } from '#local/evm/chain.ts'

/** A new data folder; `remove` stops a chain that still runs in it. */
export async function ownDataDir(): Promise<{ dataDir: string; remove(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'farebox-local-'))
  return {
    dataDir,
    async remove() {
      const chain = await findChain(anvil, chainFolderOf(dataDir))
      if (chain) process.kill(chain.pid, 'SIGKILL')
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
    },
  }
}

/** A data folder of the running test alone. */
export async function temporaryDataDir(): Promise<string> {
  const { dataDir, remove } = await ownDataDir()
  onTestFinished(remove)
  return dataDir
}

/** A chain of the running test alone. */
export async function temporaryChain(options: Omit<LocalEvmChainOptions, 'dataDir'> = {}): Promise<LocalEvmChain> {
  const chain = await startLocalEvmChain({ ...options, dataDir: await temporaryDataDir() })
  onTestFinished(() => chain.stop())
  return chain
}
