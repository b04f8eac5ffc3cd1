import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postJson } from '../kit/api.ts'
import { DialogForm, RefusedNote } from '../kit/dialog.tsx'
import { count } from '../kit/format.ts'
import { Table } from '../kit/table.tsx'
import { limitColumns, limitKey } from './customer.tsx'
import { CustomerLink, Time, Waiting } from './list.tsx'
import { act, question, useLive } from './operator.ts'
import { may, said } from './session.ts'
import type { ModelRow } from './wire.ts'

const healthEveryMs = 3_000
const health = { up: 'badge good', trial: 'badge', down: 'badge bad' } as const

/** Models, and the health of their engines. */
export function ModelsPage(): JSX.Element {
  const models = useLive(() => postJson<ModelRow[]>('/api/models', {}), '', healthEveryMs)
  const shown = models.value.value
  if (!shown) return <Waiting problem={models.problem.value} />
  return (
    <>
      <RefusedNote refused={models.problem.value} />
      <p class="quiet">Figures for this process, since it started or its upstreams changed.</p>
      <Table
        caption="Models and their engines"
        columns={[
          { name: 'Model', show: ({ model }) => model },
          { name: 'Type', show: ({ type }) => type },
          { name: 'Waiting', isNumber: true, show: ({ waiting }) => count(waiting) },
          { name: 'Engines', show: ({ upstreams }) => <Upstreams upstreams={upstreams} /> },
        ]}
        rows={shown}
        keyOf={({ model, type }) => `${type} ${model}`}
        empty="There are no models."
      />
    </>
  )
}

function Upstreams({ upstreams }: Pick<ModelRow, 'upstreams'>): JSX.Element {
  if (upstreams.length === 0) return <span class="quiet">in this process</span>
  return (
    <>
      {upstreams.map(({ name, state, running, calls, failures }) => (
        <span key={name} class="block">
          {name} <span class={health[state]}>{state}</span> {count(running)} running, {count(calls)} calls,{' '}
          {count(failures)} failed
        </span>
      ))}
    </>
  )
}

/** Who hits which limit, and who is blocked. */
export function LimitsPage(): JSX.Element {
  const limits = useLive(() => question('limits', {}))
  const lifted = useSignal<string | null>(null)
  const shown = limits.value.value
  if (!shown) return <Waiting problem={limits.problem.value} />
  const subject = lifted.value
  return (
    <>
      <RefusedNote refused={limits.problem.value} />
      <h2 class="title">Blocked by this process after too many failed requests</h2>
      <Table
        caption="Blocked callers"
        columns={[
          { name: 'Caller', show: row => <code>{row.subject}</code> },
          { name: 'Until', show: ({ untilMs }) => <Time atMs={untilMs} /> },
          {
            name: 'Action',
            show: row =>
              may('support') ? (
                <button
                  type="button"
                  aria-label={`Unblock ${row.subject}`}
                  onClick={() => (lifted.value = row.subject)}
                >
                  Unblock
                </button>
              ) : (
                '–'
              ),
          },
        ]}
        rows={shown.blocks}
        keyOf={row => row.subject}
        empty="No caller is blocked."
      />
      <h2>Limits hit in the last day</h2>
      <Table
        caption="Limits that were hit"
        columns={[
          { name: 'Customer', show: row => <CustomerLink customer={row.customer} name={row.name} /> },
          ...limitColumns,
        ]}
        rows={shown.hits}
        keyOf={limitKey}
        empty="No limit was hit."
      />
      {subject !== null && (
        <DialogForm
          title={`Unblock ${subject}`}
          action="Unblock"
          close={() => (lifted.value = null)}
          submit={async form => {
            await act('limit.unblock', { subject, reason: String(form.get('reason') ?? '') })
            said.value = `${subject} may call again.`
            await limits.refresh()
          }}
        >
          <label>
            Reason <input name="reason" required maxLength={500} />
          </label>
        </DialogForm>
      )}
    </>
  )
}
