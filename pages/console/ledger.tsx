import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postJson, refusedOf } from '../kit/api.ts'
import { RefusedNote } from '../kit/dialog.tsx'
import { count, usd, utcTime } from '../kit/format.ts'
import { Choice, DayField, filterOf, Search } from '../kit/list.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { CopyText, Time } from '../kit/text.tsx'
import type { Refused } from '../kit/wire.ts'
import type { EntryView } from './answers.ts'
import { CustomerLink, List, RequestLink, useCsv } from './list.tsx'
import { exact, me } from './operator.ts'
import { type AuditResult, entryKinds } from './wire.ts'

const columns: readonly Column<EntryView>[] = [
  { name: 'Number', isNumber: true, show: ({ number }) => number },
  { name: 'Time', show: ({ atMs }) => <Time atMs={atMs} /> },
  { name: 'Customer', show: row => <CustomerLink customer={row.customer} name={row.name} /> },
  { name: 'Kind', show: ({ kind }) => kind },
  { name: 'USD', isNumber: true, show: ({ amountUsd }) => exact(amountUsd) },
  { name: 'Balance after', isNumber: true, show: ({ balanceAfterUsd }) => exact(balanceAfterUsd) },
  {
    name: 'For',
    show: ({ model, sku, units, reason }) =>
      [model, sku, units === null ? null : `× ${units}`, reason].filter(Boolean).join(' ') || '–',
  },
  {
    name: 'Request',
    show: ({ request, ref }) => (request === null ? <code>{ref}</code> : <RequestLink request={request} />),
  },
]

const filters = ['customer', 'kind', 'model', 'request', 'from', 'to'] as const

/** Entries, and whether they add up. */
export function LedgerPage(): JSX.Element {
  const csv = useCsv('entries', filterOf(...filters))
  return (
    <>
      <Audit />
      <h2>Entries</h2>
      <p class="controls">
        <Search label="Customer" name="customer" placeholder="id, name or wallet" />
        <Choice label="Kind" name="kind" values={entryKinds} />
        <Search label="Model" name="model" />
        <Search label="Request" name="request" />
        <DayField label="From (UTC)" name="from" />
        <DayField label="Before (UTC)" name="to" />
        {csv.button}
      </p>
      {csv.refusal}
      <List
        name="entries"
        caption="Entries"
        filter={filterOf(...filters)}
        columns={columns}
        keyOf={({ number }) => `${number}`}
        empty="No entries found."
      />
    </>
  )
}

/** Only a command can do it, because it must also work where the service does not. */
function Backup(): JSX.Element {
  const file = `ledger-${new Date().toISOString().slice(0, 10)}.db`
  return (
    <details>
      <summary>Back up and restore</summary>
      <p>Run this on the service’s machine, in the folder of farebox.yaml. The service keeps running.</p>
      <p>
        <CopyText text={`farebox backup ${file} --with-secret`} what="the command that backs up" />
      </p>
      <p>This restores the copy into a new folder:</p>
      <p>
        <CopyText text={`farebox restore ${file} --data restored`} what="the command that restores" />
      </p>
    </details>
  )
}

function Audit(): JSX.Element {
  const result = useSignal<AuditResult | null>(null)
  const refused = useSignal<Refused | null>(null)
  const isBusy = useSignal(false)
  const run = async () => {
    isBusy.value = true
    refused.value = null
    try {
      result.value = await postJson<AuditResult>('/api/audit', {})
    } catch (error) {
      refused.value = refusedOf(error)
    }
    isBusy.value = false
  }
  const ledger = me.value?.ledger
  const shown = result.value
  return (
    <section class="card" aria-labelledby="audit-title">
      <h2 id="audit-title" class="title">
        The ledger is {ledger?.state === 'read_only' ? 'read-only' : 'open'}
      </h2>
      {ledger?.state === 'read_only' && <p class="refused">{ledger.reason}</p>}
      <p class="controls">
        <button type="button" class="main" disabled={isBusy.value} onClick={run}>
          {isBusy.value ? 'Auditing…' : 'Audit now'}
        </button>
        <span role="status">
          {shown &&
            `${shown.ok ? 'Everything adds up' : 'The ledger does not add up'}: audited ${utcTime(shown.atMs)} in ${(shown.tookMs / 1_000).toFixed(1)} s. Drift: ${usd(shown.driftMicroUsd)}.`}
        </span>
      </p>
      <RefusedNote refused={refused.value} />
      {shown && (
        <p class="quiet">
          {shown.counts
            .filter(each => each.count > 0)
            .map(
              ({ name, count: n }) => `${count(n)} ${name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)}`,
            )
            .join(' · ')}
        </p>
      )}
      {shown && shown.findings.length > 0 && (
        <>
          <Table
            caption="Findings"
            columns={[
              { name: 'Finding', show: ({ kind }) => kind },
              { name: 'About', show: ({ subject }) => <code>{subject}</code> },
              { name: 'Problem', show: ({ sentence }) => sentence },
            ]}
            rows={shown.findings}
            keyOf={({ kind, subject, sentence }) => `${kind} ${subject} ${sentence}`}
            empty=""
          />
          {shown.findingsLeftOff > 0 && <p>{count(shown.findingsLeftOff)} more are not shown.</p>}
        </>
      )}
      <Backup />
    </section>
  )
}
