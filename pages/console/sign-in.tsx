import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { beginSession, keptIn, postJson, refusedOf } from '../kit/api.ts'
import { RefusedNote, SlowNote } from '../kit/dialog.tsx'
import type { Refused } from '../kit/wire.ts'
import { CodeField, codeIn } from './password.tsx'
import { signWith } from './prove.tsx'
import type { SignInWays } from './wire.ts'

/** The page without a session: the ways to sign in. */
export function SignInPage({ why }: { why: Refused | null }): JSX.Element {
  const ways = useSignal<SignInWays | null>(null)
  const refused = useSignal<Refused | null>(why)
  const isBusy = useSignal(false)
  const ask = async () => {
    ways.value = await postJson<SignInWays>('/api/sign-in', {})
  }
  const orSay = async (run: () => Promise<void>) => {
    if (isBusy.value) return
    isBusy.value = true
    try {
      await run()
    } catch (error) {
      refused.value = refusedOf(error)
    }
    isBusy.value = false
  }
  useEffect(() => {
    document.title = 'Sign in · farebox console'
    void orSay(ask)
  }, [])
  const byPasskey = () =>
    orSay(async () => {
      // A challenge works once, so each try requests a new one.
      await ask()
      const request = ways.value?.passkey
      if (!request) return
      await beginSession('/api/sign-in/passkey', { credential: await signWith(request) }, keptIn('localStorage'))
      location.reload()
    })
  const byPassword = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const [operator, password] = [String(form.get('operator') ?? '').trim(), String(form.get('password') ?? '')]
    return orSay(async () => {
      await beginSession('/api/sign-in/password', { operator, password, code: codeIn(form) }, keptIn('localStorage'))
      location.reload()
    })
  }
  const seen = ways.value
  return (
    <main class="entry">
      <h1>farebox console</h1>
      <RefusedNote refused={refused.value} />
      <SlowNote />
      {seen?.passkey && (
        <p class="controls">
          <button type="button" class="main" disabled={isBusy.value} onClick={byPasskey}>
            Sign in with a passkey
          </button>
        </p>
      )}
      {seen?.passkeysAt && (
        <p>
          Passkeys work at <a href={seen.passkeysAt}>{seen.passkeysAt}</a>, because browsers do not allow them for an IP
          address.
        </p>
      )}
      <PasswordForm isBusy={isBusy.value} submit={byPassword} />
      <p class="quiet">
        For the first time, or without either: run <code>farebox console</code> on the service’s machine, and open the
        link that it prints.
      </p>
    </main>
  )
}

interface PasswordFormProps {
  isBusy: boolean
  submit(event: SubmitEvent): Promise<void>
}

/** For places where neither a link nor a passkey works. */
function PasswordForm({ isBusy, submit }: PasswordFormProps): JSX.Element {
  return (
    <details>
      <summary>Sign in with a password</summary>
      <form onSubmit={submit}>
        <label class="block">
          Name <input name="operator" autocomplete="username" required maxLength={64} />
        </label>
        <label class="block">
          Password <input name="password" type="password" autocomplete="current-password" required maxLength={256} />
        </label>
        <CodeField />
        <p class="controls">
          <button type="submit" class="main" disabled={isBusy}>
            Sign in
          </button>
        </p>
      </form>
    </details>
  )
}
