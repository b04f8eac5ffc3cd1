import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { DialogForm, RefusedNote } from '../kit/dialog.tsx'
import { Waiting } from '../kit/list.tsx'
import { said } from '../kit/sections.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import { limitColumns, limitKey } from './customer.tsx'
import { CustomerLink } from './list.tsx'
import { act, may, question, useLive } from './operator.ts'

/** Which callers hit which limits, and which are blocked. */
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
