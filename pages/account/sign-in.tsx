import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { beginSession, keptIn, refusedOf } from '../kit/api.ts'
import { RefusedNote } from '../kit/dialog.tsx'
import type { Refused } from '../kit/wire.ts'
import { problem, readMe } from './session.ts'
import { useWalletCall, WalletCallNote } from './wallets/wallet-call.tsx'
import { type BrowserWallet, proofOf, useWallets } from './wallets/wallets.ts'
import { walletSessionPath } from './wallets/wire.ts'
import { keySessionPath } from './wire.ts'

/** Signs a customer in with an API key or a browser wallet. */
export function SignIn(): JSX.Element {
  const refused = useSignal<Refused | null>(null)
  const isBusy = useSignal(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    isBusy.value = true
    refused.value = null
    problem.value = null
    try {
      await beginSession(keySessionPath, { key: `${new FormData(form).get('key') ?? ''}` }, keptIn('localStorage'))
      form.reset()
      await readMe(true)
    } catch (error) {
      refused.value = refusedOf(error)
    }
    isBusy.value = false
  }
  return (
    <div class="cards">
      <section class="card" aria-labelledby="key-title">
        <h2 id="key-title" class="title">
          Sign in with an API key
        </h2>
        <form onSubmit={submit}>
          <p>
            <label>
              API key <input name="key" type="password" autocomplete="off" spellcheck={false} required />
            </label>
          </p>
          <RefusedNote refused={refused.value} />
          <p>
            <button type="submit" class="main" disabled={isBusy.value}>
              {isBusy.value ? 'Signing in…' : 'Sign in'}
            </button>
          </p>
        </form>
        <p class="quiet">
          The key begins with <code>fb_</code>. This page sends it once and does not keep it. An ADMIN key shows the
          whole account and manages its keys; an INFERENCE key shows its own use.
        </p>
        <p class="quiet">No key yet? Ask the operator of this service for one, or sign in with a wallet.</p>
      </section>
      <WalletButtons />
    </div>
  )
}

/** A sign-in button for each of this browser's wallets. */
function WalletButtons(): JSX.Element {
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
