import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { beginSession, keptIn, refusedOf } from '../kit/api.ts'
import { RefusedNote } from '../kit/dialog.tsx'
import type { Refused } from '../kit/wire.ts'
import { problem, readMe } from './session.ts'
import { WalletButtons } from './wallets/wallet-buttons.tsx'
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
