import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { postJson, proveWith, RefusedError } from '../kit/api.ts'
import { DialogForm } from '../kit/dialog.tsx'
import { CodeField, codeIn, UserName } from './password.tsx'
import type { Notice, PasskeyCreation, PasskeyRequest, ProofWays } from './wire.ts'

/** Set while the operator must prove their identity again; called with the outcome. */
const waiting = signal<((isProven: boolean) => void) | null>(null)

/** From now on, an action that needs a recent proof asks for it and is then repeated. */
export const proveWhenNeeded = (): void =>
  proveWith(
    () =>
      new Promise(resolve => {
        waiting.value?.(false)
        waiting.value = resolve
      }),
  )

/** Asks for the proof in a dialog on top of the page. */
export function ProveDialog(): JSX.Element | null {
  return waiting.value ? <OpenDialog done={waiting.value} /> : null
}

function OpenDialog({ done }: { done(isProven: boolean): void }): JSX.Element {
  const ways = useSignal<ProofWays | null>(null)
  const isProven = useSignal(false)
  const close = () => {
    waiting.value = null
    done(isProven.value)
  }
  useEffect(() => {
    postJson<ProofWays>('/api/prove/ways', {}).then(
      asked => {
        ways.value = asked
      },
      () => close(),
    )
  }, [])
  const submit = async (form: FormData) => {
    if (form.get('password')) {
      await postJson<Notice>('/api/prove', { password: String(form.get('password')), code: codeIn(form) })
      isProven.value = true
      return
    }
    const { passkey } = await postJson<ProofWays>('/api/prove/ways', {})
    if (!passkey)
      throw new RefusedError(0, {
        happened: 'You have no passkey at this address.',
        next: 'Open a new link from `farebox console` in this browser, then try again.',
      })
    await postJson<Notice>('/api/prove', { credential: await signWith(passkey) })
    isProven.value = true
  }
  const seen = ways.value
  const hasNone = seen !== null && seen.passkey === null && !seen.password
  return (
    <DialogForm title="Confirm that it is you" action="Confirm" submit={submit} close={close}>
      <p>This action needs a confirmation from the last five minutes.</p>
      {seen?.password && (
        <>
          {seen.passkey && <p>Type your password and a code, or leave both empty to use a passkey.</p>}
          <UserName />
          <label>
            Password <input name="password" type="password" autocomplete="current-password" maxLength={256} />
          </label>
          <CodeField isOptional />
        </>
      )}
      {hasNone && (
        <p>
          You have no passkey at this address, and no password: open a new link from <code>farebox console</code> in
          this browser, then try again.
        </p>
      )}
    </DialogForm>
  )
}

const isPossible = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

/** Asks an authenticator, and turns the browser's errors into sentences. */
async function asked(ask: () => Promise<Credential | null>): Promise<unknown> {
  if (!isPossible())
    throw new RefusedError(0, {
      happened: 'This browser does not support passkeys.',
      next: 'Use a newer browser, or a link.',
    })
  try {
    const credential = await ask()
    if (credential instanceof PublicKeyCredential) return credential.toJSON()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'InvalidStateError')
      throw new RefusedError(0, {
        happened: 'This device already has one of your passkeys.',
        next: 'Use another device.',
      })
  }
  throw new RefusedError(0, { happened: 'No passkey was used.', next: 'Try again, or use a link.' })
}

export const signWith = (request: PasskeyRequest): Promise<unknown> =>
  asked(() =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(request as never) }),
  )

export const makePasskey = (creation: PasskeyCreation): Promise<unknown> =>
  asked(() =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(creation as never) }),
  )
