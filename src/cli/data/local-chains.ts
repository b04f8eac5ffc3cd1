/** Returns where a data folder's local EVM chain listens; null if none runs. */
export async function localEvm(dataDir: string): Promise<string | null> {
  const [{ findChain, loopbackUrl }, { chainFolderOf }, { anvil }] = await Promise.all([
    import('#local/chain/process.ts'),
    import('#local/chain/folder.ts'),
    import('#local/evm/anvil.ts'),
  ])
  const chain = await findChain(anvil, chainFolderOf(dataDir))
  return chain && loopbackUrl(chain.port)
}

/** Returns where a data folder's local Solana chain listens; null if none runs. */
export async function localSolana(dataDir: string): Promise<string | null> {
  const [{ findChain, loopbackUrl }, { solanaFolderOf }, { solana }] = await Promise.all([
    import('#local/chain/process.ts'),
    import('#local/chain/folder.ts'),
    import('#local/solana/chain.ts'),
  ])
  const chain = await findChain(solana, solanaFolderOf(dataDir))
  return chain && loopbackUrl(chain.port)
}
