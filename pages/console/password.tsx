import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { postJson, RefusedError, refusedOf } from '../kit/api.ts'
import { DialogForm, RefusedNote } from '../kit/dialog.tsx'
import { CopyText, Qr, Time } from '../kit/text.tsx'
import type { Refused } from '../kit/wire.ts'
import { me } from './operator.ts'
import { type PasswordSetup, passwordCharacters } from './wire.ts'

interface PasswordProps {
  sinceMs: number | null
  tell(path: string, body: object): Promise<void>
}

/** The operator's password, for places where neither a link nor a passkey works. */
export function PasswordSection({ sinceMs, tell }: PasswordProps): JSX.Element {
  const open = useSignal<'set' | 'remove' | null>(null)
  const close = () => (open.value = null)
  return (
    <>
      <h2>Password</h2>
      <p>
        {sinceMs === null ? (
          'A password with a code from your authenticator signs you in where neither a link nor a passkey works.'
        ) : (
          <>
            Set on <Time atMs={sinceMs} />. It signs you in with a code from your authenticator.
          </>
        )}
      </p>
      <p class="controls">
        <button type="button" onClick={() => (open.value = 'set')}>
          {sinceMs === null ? 'Set a password' : 'Replace the password'}
        </button>
        {sinceMs !== null && (
          <button type="button" onClick={() => (open.value = 'remove')}>
            Remove the password
          </button>
        )}
      </p>
      {open.value === 'set' && <SetDialog tell={tell} close={close} />}
      {open.value === 'remove' && (
        <DialogForm
          title="Remove the password"
          action="Remove"
          close={close}
          submit={() => tell('remove-password', {})}
        >
          <p>It will no longer sign you in. Current sessions continue.</p>
        </DialogForm>
      )}
    </>
  )
}

/** Shows the secret of the codes once, and sets the password with the first of them. */
function SetDialog({ tell, close }: Pick<PasswordProps, 'tell'> & { close(): void }): JSX.Element {
  const setup = useSignal<PasswordSetup | null>(null)
  const refused = useSignal<Refused | null>(null)
  useEffect(() => {
    postJson<PasswordSetup>('/api/your-sign-in/password-request', {}).then(
      made => {
        setup.value = made
      },
      error => {
        refused.value = refusedOf(error)
      },
    )
  }, [])
  const shown = setup.value
  const submit = async (form: FormData) => {
    const [password, again] = [String(form.get('password') ?? ''), String(form.get('again') ?? '')]
    if (!shown) throw new RefusedError(0, { happened: 'There is no code to scan yet.', next: 'Try again.' })
    if (password !== again)
      throw new RefusedError(0, { happened: 'The two passwords differ.', next: 'Type the same password twice.' })
    await tell('set-password', { password, code: codeIn(form), setup: shown.setup })
  }
  const { least, most } = passwordCharacters
  return (
    <DialogForm title="Set a password" action="Set" close={close} submit={submit}>
      <RefusedNote refused={refused.value} />
      {shown && (
        <>
          <p>Scan this with an authenticator app, or type the secret there. It is shown only now.</p>
          <Qr qr={shown.qr} label="QR code with the secret below" />
          <p>
            <CopyText text={shown.secret} what="the secret" />
          </p>
        </>
      )}
      <UserName />
      <label>
        Password, {least} characters or more{' '}
        <input
          name="password"
          type="password"
          autocomplete="new-password"
          required
          minLength={least}
          maxLength={most}
        />
      </label>
      <label>
        Repeat the password <input name="again" type="password" autocomplete="new-password" required maxLength={most} />
      </label>
      <CodeField />
    </DialogForm>
  )
}

/** Tells password managers to which user the form's password belongs. */
export const UserName = (): JSX.Element => (
  <input name="username" autocomplete="username" value={me.value?.by ?? ''} readOnly hidden />
)

/** The six digits that the authenticator shows now. */
export function CodeField({ isOptional = false }: { isOptional?: boolean }): JSX.Element {
  return (
    <label>
      Code{' '}
      <input
        name="code"
        inputMode="numeric"
        autocomplete="one-time-code"
        required={!isOptional}
        pattern="[0-9 ]{6,7}"
        title="The six digits that your authenticator shows now"
        maxLength={7}
      />
    </label>
  )
}

/** Many authenticators show a space in the middle. */
export const codeIn = (form: FormData): string => String(form.get('code') ?? '').replaceAll(' ', '')
