import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { solanaFolderOf } from '#local/chain/folder.ts'
import { findChain } from '#local/chain/process.ts'
import { type LocalSolanaChain, solana, startLocalSolanaChain } from '#local/solana/chain.ts'

/** A data folder of the running test alone; a Solana chain that still runs for it is ended. */
export async function solanaDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'farebox-solana-'))
  onTestFinished(async () => {
    const chain = await findChain(solana, solanaFolderOf(dataDir))
    if (chain) process.kill(chain.pid, 'SIGKILL')
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  })
  return dataDir
}

/** A chain of the running test alone. */
export async function temporarySolanaChain(): Promise<LocalSolanaChain> {
  const chain = await startLocalSolanaChain({ dataDir: await solanaDataDir() })
  onTestFinished(() => chain.stop())
  return chain
}
