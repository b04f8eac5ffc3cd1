import type { JSX } from 'preact'
import { beginSession, keptIn } from '../../kit/api.ts'
import { readMe } from '../session.ts'
import { useWalletCall, WalletCallNote } from './wallet-call.tsx'
import { type BrowserWallet, proofOf, useWallets } from './wallets.ts'
import { walletSessionPath } from './wire.ts'

/** A sign-in button for each of this browser's wallets. */
export function WalletButtons(): JSX.Element {
  const wallets = useWallets().filter(wallet => wallet.kind === 'evm' || wallet.canSignIn)
  const { run, ...call } = useWalletCall()
  const signIn = (wallet: BrowserWallet) =>
    run(
      wallet.name,
      () => proofOf(wallet),
      async proof => {
        await beginSession(walletSessionPath, proof, keptIn('localStorage'))
        await readMe(true)
      },
    )
  return (
    <section class="card" aria-labelledby="wallet-title">
      <h2 id="wallet-title" class="title">
        Sign in with a wallet
      </h2>
      {wallets.length === 0 && (
        <p>
          This browser has no wallet for Base or Solana. Install one, unlock it and reload this page, or use an API key.
        </p>
      )}
      {wallets.map((wallet, index) => (
        <p key={index}>
          <button type="button" disabled={call.waitsFor !== null} onClick={() => signIn(wallet)}>
            {wallet.name} <span class="quiet">({wallet.hint})</span>
          </button>
        </p>
      ))}
      <WalletCallNote {...call} />
      <p class="quiet">
        The wallet signs a message that names this site and works once. It moves no money and costs nothing. You then
        see that wallet’s account.
      </p>
    </section>
  )
}
