import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { postJson, proveWith, RefusedError } from '../kit/api.ts'
import { DialogForm } from '../kit/dialog.tsx'
import { signWith } from './passkey.ts'
import type { ProofWays, Told } from './wire.ts'

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
  useEffect(() => {
    postJson<ProofWays>('/api/prove/ways', {}).then(
      asked => {
        ways.value = asked
      },
      () => done(false),
    )
  }, [])
  const close = () => {
    waiting.value = null
    done(isProven.value)
  }
  const submit = async () => {
    const { passkey } = await postJson<ProofWays>('/api/prove/ways', {})
    if (!passkey)
      throw new RefusedError(0, {
        happened: 'You have no passkey at this address.',
        next: 'Open a new link from `farebox console` in this browser, then try again.',
      })
    await postJson<Told>('/api/prove', { credential: await signWith(passkey) })
    isProven.value = true
  }
  const hasNone = ways.value !== null && ways.value.passkey === null
  return (
    <DialogForm title="Confirm that it is you" action="Confirm" submit={submit} close={close}>
      <p>This action needs a confirmation from the last five minutes.</p>
      {hasNone && (
        <p>
          You have no passkey at this address: open a new link from <code>farebox console</code> in this browser, then
          do it again.
        </p>
      )}
    </DialogForm>
  )
}
