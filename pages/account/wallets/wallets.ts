import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { postJson } from '../../kit/api.ts'
import { connectEvm, type EvmWallet, signEvmMessage, watchEvmWallets } from './evm.ts'
import { connectSolana, type SolanaWallet, signSolanaChallenge, watchSolanaWallets } from './solana.ts'
import { type Challenge, type ChallengeOrder, type WalletProof, walletChallengePath } from './wire.ts'

export type BrowserWallet = EvmWallet | SolanaWallet

/** More than anyone installs: a hostile extension could announce wallets endlessly. */
const mostWallets = 20

const found = signal<readonly BrowserWallet[]>([])

const sourceOf = (wallet: BrowserWallet): unknown => (wallet.kind === 'evm' ? wallet.provider : wallet.source)

/** The browser's wallets, as they announce themselves. Wallets with the same name are all shown. */
export function useWallets(): readonly BrowserWallet[] {
  useEffect(() => {
    const add = (wallet: BrowserWallet) => {
      const known = found.peek()
      if (known.length < mostWallets && !known.some(each => sourceOf(each) === sourceOf(wallet)))
        found.value = [...known, wallet]
    }
    const stops = [watchEvmWallets(add), watchSolanaWallets(add)]
    return () => {
      for (const stop of stops) stop()
    }
  }, [])
  return found.value
}

/** Proves to the server who the user is: the wallet names an account, the server writes a message, the wallet signs it. */
export const proofOf = (wallet: BrowserWallet): Promise<WalletProof> =>
  wallet.kind === 'evm' ? byEvm(wallet) : bySolana(wallet)

const challengeFor = (order: ChallengeOrder): Promise<Challenge> => postJson<Challenge>(walletChallengePath, order)

async function byEvm(wallet: EvmWallet): Promise<WalletProof> {
  const { kind } = wallet
  const address = await connectEvm(wallet)
  const { message } = await challengeFor({ kind, address })
  return { kind, address, message, signature: await signEvmMessage(wallet, address, message) }
}

async function bySolana(wallet: SolanaWallet): Promise<WalletProof> {
  const { kind } = wallet
  const connected = await connectSolana(wallet)
  const { address } = connected
  const challenge = await challengeFor({ kind, address })
  return { kind, address, ...(await signSolanaChallenge(wallet, connected, challenge)) }
}
