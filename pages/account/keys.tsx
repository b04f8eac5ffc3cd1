import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { DialogForm } from '../kit/dialog.tsx'
import { exactUsd, usd } from '../kit/format.ts'
import { said } from '../kit/sections.tsx'
import { type Column, nothing } from '../kit/table.tsx'
import { CopyText, Time } from '../kit/text.tsx'
import { List } from './list.tsx'
import { ask } from './session.ts'
import type { BudgetView, KeyRow, NewKey, Notice } from './wire.ts'

const pageRows = 50

/** The user's intended action on a key. */
interface Opened {
  act: 'change' | 'revoke'
  row: KeyRow
}

/** Keys of the account: their budgets and spend, creating and revoking them. */
export function KeysPage(): JSX.Element {
  const state = useSignal<'active' | 'ended'>('active')
  const version = useSignal(0)
  const isCreating = useSignal(false)
  const created = useSignal<NewKey | null>(null)
  const opened = useSignal<Opened | null>(null)
  const columns = keyColumns(asked => (opened.value = asked))
  return (
    <>
      <p class="controls">
        <button type="button" class="main" onClick={() => (isCreating.value = true)}>
          Create a key
        </button>
        <label>
          Show{' '}
          <select
            value={state.value}
            onChange={event => (state.value = event.currentTarget.value === 'ended' ? 'ended' : 'active')}
          >
            <option value="active">active keys</option>
            <option value="ended">expired and revoked keys</option>
          </select>
        </label>
      </p>
      {created.value && <Secret created={created.value} />}
      <List
        name="keys"
        caption="Keys"
        filter={{ state: state.value }}
        columns={state.value === 'active' ? columns : columns.slice(0, -1)}
        keyOf={({ id }: KeyRow) => id}
        empty="No keys."
        pageRows={pageRows}
        version={version.value}
      />
      {isCreating.value && (
        <CreateDialog
          done={key => {
            created.value = key
            version.value++
          }}
          close={() => (isCreating.value = false)}
        />
      )}
      {opened.value && (
        <RowDialog
          {...opened.value}
          done={() => {
            version.value++
          }}
          close={() => (opened.value = null)}
        />
      )}
    </>
  )
}

/** The key is shown only this once. */
function Secret({ created: { secret } }: { created: NewKey }): JSX.Element {
  return (
    <section class="card secret" aria-labelledby="secret-title">
      <h2 id="secret-title" class="title">
        Your new key
      </h2>
      <p>Copy it now: it is not shown again, and the service stores only a hash of it.</p>
      <CopyText text={secret} what="the key" />
    </section>
  )
}

const keyColumns = (open: (asked: Opened) => void): readonly Column<KeyRow>[] => [
  {
    name: 'Key',
    show: ({ prefix, label, id }) => (
      <a href={`/account/requests?${new URLSearchParams({ key: id })}`}>
        {label && <span class="block">{label}</span>}
        <code>{prefix}…</code>
      </a>
    ),
  },
  { name: 'Role', show: ({ role }) => role },
  { name: 'Spent, 30 days', isNumber: true, show: ({ paid }) => exactUsd(paid) },
  { name: 'Budget', show: ({ budget }) => (budget ? <Budget budget={budget} /> : 'none: all of the credit') },
  { name: 'Last charge', show: ({ lastUsedMs }) => (lastUsedMs === null ? nothing : <Time atMs={lastUsedMs} />) },
  { name: 'Created', show: ({ createdAtMs }) => <Time atMs={createdAtMs} /> },
  {
    name: 'Ends',
    show: ({ state, expiresAtMs }) =>
      state === 'revoked' ? 'revoked' : expiresAtMs === null ? 'never' : <Time atMs={expiresAtMs} />,
  },
  {
    name: 'Action',
    show: row => (
      <>
        <button
          type="button"
          class="small"
          aria-label={`Change ${row.label || row.prefix}`}
          onClick={() => open({ act: 'change', row })}
        >
          Change
        </button>{' '}
        <button
          type="button"
          class="small danger"
          aria-label={`Revoke ${row.label || row.prefix}`}
          onClick={() => open({ act: 'revoke', row })}
        >
          Revoke
        </button>
      </>
    ),
  },
]

const periods = { epoch: 'a day', month: 'a month', lifetime: 'in total' } as const

function Budget({ budget }: { budget: BudgetView }): JSX.Element {
  const { usd: most, staking, usedUsd, heldUsd, usedStaking, period, nextMs } = budget
  return (
    <>
      <span class="block">
        {usd(usedUsd)} of {most === null ? 'any amount' : usd(most)} {periods[period]}
      </span>
      {heldUsd !== '0' && <span class="block quiet">{usd(heldUsd)} more on hold</span>}
      {staking !== null && (
        <span class="block">
          {usd(usedStaking)} of {usd(staking)} staking credit
        </span>
      )}
      {nextMs !== null && (
        <span class="block quiet">
          resets <Time atMs={nextMs} />
        </span>
      )}
    </>
  )
}

function CreateDialog({ done, close }: { done(key: NewKey): void; close(): void }): JSX.Element {
  const submit = async (form: FormData) => {
    const of = (name: string) => `${form.get(name) ?? ''}`.trim()
    const limit = of('usd')
    const order = {
      ...{ apiKeyType: of('role'), description: of('label') },
      ...(limit === '' ? {} : { consumptionLimit: { usd: Number(limit) }, limitPeriod: of('period') }),
      ...(of('ends') === '' ? {} : { expiresAt: of('ends') }),
    }
    done(await ask<NewKey>('keys/create', order))
    said.value = 'The key was created.'
  }
  return (
    <DialogForm title="Create a key" action="Create" submit={submit} close={close}>
      <p>
        <label>
          Label <input name="label" maxLength={64} autocomplete="off" />
        </label>
      </p>
      <p>
        <label>
          Role{' '}
          <select name="role">
            <option value="INFERENCE">INFERENCE: calls models</option>
            <option value="ADMIN">ADMIN: also manages keys and reads the account</option>
          </select>
        </label>
      </p>
      <LimitFields usd="" period="EPOCH" ends="" />
    </DialogForm>
  )
}

const resets = [
  ['EPOCH', 'every UTC day'],
  ['MONTH', 'every UTC month'],
  ['LIFETIME', 'never'],
] as const

/** How much a key may spend, and until when. */
function LimitFields({ usd: limit, period, ends }: { usd: string; period: string; ends: string }): JSX.Element {
  return (
    <>
      <p>
        <label>
          Budget in USD (empty for none){' '}
          <input
            name="usd"
            inputMode="decimal"
            pattern=" *\d{1,9}(\.\d{1,6})? *"
            title="An amount in USD such as 5 or 0.25, with at most six decimals"
            defaultValue={limit}
          />
        </label>
      </p>
      <p>
        <label>
          The budget resets{' '}
          <select name="period">
            {resets.map(([value, words]) => (
              <option key={value} value={value} selected={value === period}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </p>
      <p>
        <label>
          Ends on (UTC, empty for never) <input name="ends" type="date" defaultValue={ends} />
        </label>
      </p>
    </>
  )
}

interface RowDialogProps {
  row: KeyRow
  done(): void
  close(): void
}

const RowDialog = ({ act, ...rest }: RowDialogProps & Opened): JSX.Element =>
  act === 'change' ? <ChangeDialog {...rest} /> : <RevokeDialog {...rest} />

/** Sends only changed values, so that a budget's period does not start again by accident. */
function ChangeDialog({ row, done, close }: RowDialogProps): JSX.Element {
  const { id, label, prefix, budget, expiresAtMs } = row
  const before = {
    ...{ label, usd: budget?.usd ? exactUsd(budget.usd) : '' },
    ...{ period: (budget?.period ?? 'epoch').toUpperCase() },
    ends: expiresAtMs === null ? '' : new Date(expiresAtMs).toISOString().slice(0, 10),
  }
  const submit = async (form: FormData) => {
    const of = (name: string) => `${form.get(name) ?? ''}`.trim()
    const after = { label: of('label'), usd: of('usd'), period: of('period'), ends: of('ends') }
    const hasLimit = after.usd !== ''
    const isMoved = after.usd !== before.usd || (hasLimit && after.period !== before.period)
    const order = {
      ...{ id, ...(after.label === before.label ? {} : { description: after.label }) },
      ...(isMoved ? { consumptionLimit: { usd: hasLimit ? Number(after.usd) : null } } : {}),
      ...(isMoved && hasLimit ? { limitPeriod: after.period } : {}),
      ...(after.ends === before.ends ? {} : { expiresAt: after.ends === '' ? null : after.ends }),
    }
    said.value = (await ask<Notice>('keys/change', order)).said
    done()
  }
  return (
    <DialogForm title="Change this key" action="Change" submit={submit} close={close}>
      <p>
        <code>{prefix}…</code> itself and its recorded spending stay the same.
      </p>
      <p>
        <label>
          Label <input name="label" maxLength={64} autocomplete="off" defaultValue={label} />
        </label>
      </p>
      <LimitFields {...before} />
    </DialogForm>
  )
}

function RevokeDialog({ row: { id, label, prefix }, done, close }: RowDialogProps): JSX.Element {
  const submit = async () => {
    said.value = (await ask<Notice>('keys/revoke', { id })).said
    done()
  }
  return (
    <DialogForm title="Revoke this key?" action="Revoke" submit={submit} close={close}>
      <p>
        {label || 'The key'} <code>{prefix}…</code> stops working immediately, and cannot be restored. Its sessions on
        this page end, too.
      </p>
    </DialogForm>
  )
}
