import type { LocalEvmChain } from '#local/evm/chain.ts'
import type { LocalKeys } from '#local/keys.ts'
import type { SolanaPaymentSettings } from '#service/index.ts'

/** What ends what has been started. */
export type Stops = (() => Promise<unknown>)[]

export interface LocalChains {
  chain: LocalEvmChain
  keys: LocalKeys
  solana: StartedSolana
}

/** The second rail, or why there is none. */
export type StartedSolana = { settings: SolanaPaymentSettings } | { settings: null; problem: string }

interface Start {
  dataDir: string
  tokenName: string | undefined
  stops: Stops
}

/** What a wallet is given when it has nothing: enough for several journeys within the default caps. */
const walletMicroUsd = 50_000_000n

/** The chains of both rails with their test money, started beside each other. `stops` has what was started, also where a part fails. */
export async function startLocalChains(start: Start): Promise<LocalChains> {
  const [evm, solana] = [startEvm(start), startSolana(start)]
  // Each goes on to its end, so that none is left behind that nobody stops.
  await Promise.allSettled([evm, solana])
  return { ...(await evm), solana: await solana }
}

async function startEvm({ dataDir, tokenName, stops }: Start): Promise<{ chain: LocalEvmChain; keys: LocalKeys }> {
  const [{ startLocalEvmChain }, { loadLocalKeys }] = await Promise.all([
    import('#local/evm/chain.ts'),
    import('#local/keys.ts'),
  ])
  const chain = await startLocalEvmChain({ dataDir, ...(tokenName === undefined ? {} : { tokenName }) })
  stops.push(() => chain.stop())
  const keys = await loadLocalKeys(dataDir)
  await chain.fundEth(keys.facilitator.address)
  if ((await chain.balanceOf(keys.wallet.address)) === 0n) await chain.mintUsdc(keys.wallet.address, walletMicroUsd)
  return { chain, keys }
}

async function startSolana({ dataDir, stops }: Start): Promise<StartedSolana> {
  const [{ solanaProblem }, { startLocalSolanaChain }, { loadLocalSolanaKeys }] = await Promise.all([
    import('#local/solana/subprocess.ts'),
    import('#local/solana/chain.ts'),
    import('#local/keys.ts'),
  ])
  const problem = solanaProblem()
  if (problem) return { settings: null, problem }
  const chain = await startLocalSolanaChain({ dataDir })
  stops.push(() => chain.stop())
  const { payee, feePayer, wallet } = await loadLocalSolanaKeys(dataDir)
  await chain.fundSol(feePayer.address)
  await chain.openAccount(payee.address)
  if ((await chain.balanceOf(wallet.address)) === 0n) await chain.mintUsdc(wallet.address, walletMicroUsd)
  const { rpcUrl } = chain
  // A block of the local chain is final when it is made.
  return { settings: { payTo: payee.address, rpcUrl, commitment: 'finalized', feePayerKey: feePayer.secretKey } }
}
