import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postJson, refusedOf } from '../kit/api.ts'
import { DialogForm, RefusedNote } from '../kit/dialog.tsx'
import { Waiting } from '../kit/list.tsx'
import { said } from '../kit/sections.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import type { Refused } from '../kit/wire.ts'
import { me, useLive } from './operator.ts'
import { PasswordSection } from './password.tsx'
import { makePasskey } from './prove.tsx'
import type { Notice, PasskeyCreation, SessionView, YourSignIn } from './wire.ts'

type Open = 'add' | { id: string; label: string } | null

/** The operator's ways to sign in, and their sessions. */
export function YourSignInPage(): JSX.Element {
  const read = useLive(() => postJson<YourSignIn>('/api/your-sign-in', {}))
  const open = useSignal<Open>(null)
  const refused = useSignal<Refused | null>(null)
  const seen = read.value.value
  if (!seen) return <Waiting problem={read.problem.value} />
  const tell = async (path: string, body: object) => {
    said.value = (await postJson<Notice>(`/api/your-sign-in/${path}`, body)).said
    await read.refresh()
  }
  const end = async ({ session }: SessionView) => {
    refused.value = null
    try {
      await tell('end-session', { session })
    } catch (error) {
      refused.value = refusedOf(error)
    }
  }
  const shown = open.value
  return (
    <>
      <RefusedNote refused={refused.value ?? read.problem.value} />
      <h2 class="title">Passkeys</h2>
      <p>
        {seen.passkeys.length > 0
          ? 'They sign you in without a terminal, and confirm sensitive actions.'
          : 'A passkey signs you in again without a terminal.'}
      </p>
      <Passkeys passkeys={seen.passkeys} remove={passkey => (open.value = passkey)} />
      {seen.passkeyHost === null ? (
        <p class="quiet">
          Browsers do not allow passkeys for an IP address.
          {seen.passkeysAt && (
            <>
              {' '}
              Open <a href={seen.passkeysAt}>{seen.passkeysAt}</a> with a new link to add one.
            </>
          )}
        </p>
      ) : (
        <p class="controls">
          <button type="button" class="main" onClick={() => (open.value = 'add')}>
            Add a passkey
          </button>
        </p>
      )}
      <PasswordSection sinceMs={seen.passwordSinceMs} tell={tell} />
      <h2>Sessions</h2>
      <Sessions sessions={seen.sessions} end={end} />
      {shown && <PasskeyDialog open={shown} host={seen.passkeyHost} tell={tell} close={() => (open.value = null)} />}
    </>
  )
}

interface PasskeyDialogProps {
  open: NonNullable<Open>
  host: string | null
  tell(path: string, body: object): Promise<void>
  close(): void
}

function PasskeyDialog({ open, host, tell, close }: PasskeyDialogProps): JSX.Element {
  if (open !== 'add')
    return (
      <DialogForm
        title={`Remove ${open.label}`}
        action="Remove"
        close={close}
        submit={() => tell('remove-passkey', { id: open.id })}
      >
        <p>It will no longer sign you in. Current sessions continue.</p>
      </DialogForm>
    )
  const add = async (form: FormData) => {
    const creation = await postJson<PasskeyCreation>('/api/your-sign-in/passkey-request', {})
    await tell('add-passkey', { label: String(form.get('label') ?? ''), credential: await makePasskey(creation) })
  }
  return (
    <DialogForm title="Add a passkey" action="Add" close={close} submit={add}>
      <label>
        Name <input name="label" required maxLength={60} placeholder="my laptop" />
      </label>
      <p class="quiet">For {host}. Your device asks for its PIN or fingerprint.</p>
    </DialogForm>
  )
}

function Passkeys({
  passkeys,
  remove,
}: {
  passkeys: YourSignIn['passkeys']
  remove(passkey: YourSignIn['passkeys'][number]): void
}): JSX.Element {
  return (
    <Table
      caption="Passkeys"
      columns={[
        { name: 'Name', show: ({ label }) => label },
        { name: 'For', show: ({ host }) => <code>{host}</code> },
        { name: 'Added', show: ({ addedAtMs }) => <Time atMs={addedAtMs} /> },
        { name: 'Last use', show: ({ usedAtMs }) => (usedAtMs === null ? '–' : <Time atMs={usedAtMs} />) },
        {
          name: 'Action',
          show: passkey => (
            <button type="button" aria-label={`Remove ${passkey.label}`} onClick={() => remove(passkey)}>
              Remove
            </button>
          ),
        },
      ]}
      rows={passkeys}
      keyOf={({ id }) => id}
      empty="You have no passkey yet."
    />
  )
}

function Sessions({
  sessions,
  end,
}: {
  sessions: readonly SessionView[]
  end(session: SessionView): Promise<void>
}): JSX.Element {
  return (
    <Table
      caption="Sessions"
      columns={[
        {
          name: 'Who',
          show: ({ by, role, isThis }) => (
            <>
              {by} ({role}){isThis && <span class="badge">this one</span>}
            </>
          ),
        },
        { name: 'By', show: ({ how }) => how },
        { name: 'Since', show: ({ beganAtMs }) => <Time atMs={beganAtMs} /> },
        { name: 'Last use', show: ({ usedAtMs }) => <Time atMs={usedAtMs} /> },
        {
          name: 'Action',
          show: session => (
            <button
              type="button"
              aria-label={`End the session of ${session.by}${session.by === me.value?.by && session.isThis ? ', this one' : ` ${session.session}`}`}
              onClick={() => end(session)}
            >
              End
            </button>
          ),
        },
      ]}
      rows={sessions}
      keyOf={({ session }) => session}
      empty="There is no session."
    />
  )
}
