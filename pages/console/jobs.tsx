import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { DialogForm } from '../kit/dialog.tsx'
import { Choice, filterOf, Search } from '../kit/list.tsx'
import { said } from '../kit/sections.tsx'
import type { Column } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import type { JobView } from './answers.ts'
import { CustomerLink, List, RequestLink } from './list.tsx'
import { act, may, money } from './operator.ts'
import { jobStates } from './wire.ts'

/** Queued work, with its refunds. */
export function JobsPage(): JSX.Element {
  const refunded = useSignal<JobView | null>(null)
  const columns: readonly Column<JobView>[] = [
    { name: 'Started', show: ({ createdAtMs }) => <Time atMs={createdAtMs} /> },
    { name: 'Customer', show: row => <CustomerLink customer={row.customer} name={row.name} /> },
    { name: 'Model', show: ({ model }) => model },
    {
      name: 'State',
      show: ({ state, failure, isRefunded }) => (
        <>
          <span class={state === 'completed' ? 'badge good' : state === 'failed' ? 'badge bad' : 'badge'}>{state}</span>
          {isRefunded && <span class="badge">refunded</span>}
          {failure && <span class="quiet block">{failure}</span>}
        </>
      ),
    },
    { name: 'Charged', isNumber: true, show: ({ chargedUsd }) => money(chargedUsd) },
    { name: 'Job', show: ({ job, request }) => <RequestLink request={request} name={job} /> },
    {
      name: 'Action',
      show: row =>
        may('support') && !row.isRefunded ? (
          <button type="button" aria-label={`Refund job ${row.job}`} onClick={() => (refunded.value = row)}>
            Refund
          </button>
        ) : (
          '–'
        ),
    },
  ]
  const job = refunded.value
  return (
    <>
      <p class="controls">
        <Choice label="State" name="state" values={jobStates} />
        <Search label="Customer" name="customer" placeholder="id, name or wallet" />
        <Search label="Model" name="model" />
      </p>
      <List
        name="jobs"
        caption="Jobs"
        filter={filterOf('state', 'customer', 'model')}
        columns={columns}
        keyOf={row => row.job}
        empty="No jobs found."
      />
      {job && (
        <DialogForm
          title={`Refund job ${job.job}`}
          action="Refund"
          close={() => (refunded.value = null)}
          submit={async form => {
            const answer = (await act('job.refund', { job: job.job, reason: String(form.get('reason') ?? '') })) as {
              refundedUsd: string
            }
            said.value = `${money(answer.refundedUsd)} was returned for job ${job.job}.`
          }}
        >
          <p>
            {money(job.chargedUsd)} will be returned to the customer.
            {job.state === 'queued' || job.state === 'running' ? ' The job ends and delivers nothing.' : ''}
          </p>
          <label>
            Reason <input name="reason" required maxLength={500} />
          </label>
        </DialogForm>
      )}
    </>
  )
}
