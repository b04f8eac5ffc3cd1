import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { DayChart } from '../kit/chart.tsx'
import { DialogForm, RefusedNote } from '../kit/dialog.tsx'
import { count, utcTime } from '../kit/format.ts'
import { Choice, filterOf, Search, Waiting } from '../kit/list.tsx'
import { go, place } from '../kit/router.ts'
import { type Column, Table } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import { ActTable } from './acts.tsx'
import type { CustomerPage, EntryView, KeyView, LimitView, ModelSums } from './answers.ts'
import { CustomerActs } from './customer-acts.tsx'
import { CustomerLink, List, RequestLink, type RowOf } from './list.tsx'
import { act, customerPath, exact, may, micro, money, question, titleOf, useLive } from './operator.ts'
import { dayColumns, Figure, shareColumns } from './overview.tsx'

const columns: readonly Column<RowOf<'customers'>>[] = [
  { name: 'Customer', show: row => <CustomerLink customer={row.customer} name={row.name} /> },
  { name: 'State', show: ({ state }) => <span class={state === 'active' ? 'badge good' : 'badge bad'}>{state}</span> },
  { name: 'E-mail', show: ({ email }) => email ?? '–' },
  { name: 'Available', isNumber: true, show: ({ availableUsd }) => money(availableUsd) },
  { name: 'On hold', isNumber: true, show: ({ heldUsd }) => money(heldUsd) },
  { name: 'Charged, 30 days', isNumber: true, show: ({ chargedUsd }) => money(chargedUsd) },
  { name: 'Requests', isNumber: true, show: ({ requests }) => count(requests) },
  { name: 'Since', show: ({ createdAtMs }) => <Time atMs={createdAtMs} /> },
]

export function CustomersPage(): JSX.Element {
  const isNew = useSignal(false)
  return (
    <>
      <p class="controls">
        <Search label="Search" name="search" placeholder="name, e-mail, note, id, wallet, key" />
        <Choice label="State" name="state" values={['active', 'suspended']} />
        <Choice label="Sort by" name="sort" values={['name', 'balance', 'charged']} none="created" />
        <Choice label="Order" name="order" values={['up']} none="down" />
        {may('support') && (
          <button type="button" class="main" onClick={() => (isNew.value = true)}>
            New customer
          </button>
        )}
      </p>
      <List
        name="customers"
        caption="Customers"
        filter={filterOf('search', 'state', 'sort', 'order')}
        columns={columns}
        keyOf={({ customer }) => customer}
        empty="No customers found."
      />
      {isNew.value && (
        <DialogForm
          title="New customer"
          action="Create"
          close={() => (isNew.value = false)}
          submit={async form => {
            const text = (name: string) => String(form.get(name) ?? '').trim()
            const details = { name: text('name'), email: text('email') || null, note: text('note') || null }
            const { customer } = (await act('customer.create', details)) as { customer: string }
            go(customerPath(customer))
          }}
        >
          <label>
            Name <input name="name" required maxLength={200} />
          </label>
          <label>
            E-mail <input name="email" type="email" maxLength={500} />
          </label>
          <label>
            Note <input name="note" maxLength={500} />
          </label>
          <p class="quiet">
            This creates no API key. Credit the customer, then create a key with `farebox keys create --account`.
          </p>
        </DialogForm>
      )}
    </>
  )
}

/** One customer: money, use, keys, limits and operators' actions. */
export function OneCustomerPage(): JSX.Element {
  const id = place.value.query.get('id') ?? ''
  const page = useLive(() => question('customer', { customer: id }), id)
  const shown = page.value.value
  return (
    <>
      <p>
        <a href="/customers">All customers</a>
      </p>
      <RefusedNote refused={page.problem.value} />
      {shown ? <Sections page={shown} refresh={page.refresh} /> : <p class="quiet">Loading the customer…</p>}
    </>
  )
}

function Sections({ page, refresh }: { page: CustomerPage; refresh(): Promise<void> }): JSX.Element {
  const { customer, totals, byDay, byModel } = page
  return (
    <>
      <h2 class="title">
        {titleOf(customer)}{' '}
        <span class={customer.state === 'active' ? 'badge good' : 'badge bad'}>{customer.state}</span>
      </h2>
      <p class="quiet">
        <code>{customer.customer}</code> · since {utcTime(customer.createdAtMs)} · plan{' '}
        {customer.plan ?? 'from the configuration'}
        {customer.email && ` · ${customer.email}`}
      </p>
      {customer.note && <p>{customer.note}</p>}
      {customer.suspendedReason && customer.suspendedAtMs && (
        <p class="refused">
          Suspended since {utcTime(customer.suspendedAtMs)}: {customer.suspendedReason}
        </p>
      )}
      <CustomerActs customer={customer} done={refresh} />
      <div class="cards">
        <Figure
          name="Available"
          value={money(customer.availableUsd)}
          note={`${money(customer.balanceUsd)} posted, ${money(customer.heldUsd)} on hold`}
        />
        <Figure
          name="Charged"
          value={money(totals.chargedUsd)}
          note={`${count(totals.requests)} requests in 30 days`}
        />
        <Figure name="Topped up" value={money(totals.toppedUpUsd)} note={`${money(totals.grantedUsd)} granted`} />
        <Figure
          name="Refunded"
          value={money(totals.refundedUsd)}
          note={`${money(totals.stakingUsd)} paid with staking credit`}
        />
      </div>
      <p>
        <a href={`/ledger?${new URLSearchParams({ customer: customer.customer })}`}>Ledger entries</a> ·{' '}
        <a href={`/usage?${new URLSearchParams({ customer: customer.customer })}`}>Usage by day and model</a> ·{' '}
        <a href={`/jobs?${new URLSearchParams({ customer: customer.customer })}`}>Jobs</a>
      </p>
      <h2>Charged by day (UTC)</h2>
      <DayChart
        label="Charged by UTC day"
        bars={byDay.map(({ day, chargedUsd }) => ({ name: day, amount: micro(chargedUsd) }))}
      />
      <details>
        <summary>By day, to the micro-USD</summary>
        <Table caption="Sums by UTC day" columns={dayColumns} rows={byDay} keyOf={({ day }) => day} empty="No days." />
      </details>
      <h2>Models</h2>
      <Table
        caption="Models"
        columns={modelColumns(micro(byModel[0]?.chargedUsd ?? '0'))}
        rows={byModel}
        keyOf={({ model }) => model}
        empty="Nothing was charged in 30 days."
      />
      <h2>Latest entries</h2>
      <LatestEntries customer={customer.customer} />
      <Access page={page} />
    </>
  )
}

/** Each entry links to its request. */
function LatestEntries({ customer }: { customer: string }): JSX.Element {
  const entries = useLive(() => question('entries', { customer, limit: latestEntries }), customer)
  const page = entries.value.value
  if (!page) return <Waiting problem={entries.problem.value} />
  return (
    <Table
      caption="Latest entries"
      columns={latestColumns}
      rows={page.rows}
      keyOf={({ number }) => `${number}`}
      empty="No entries."
    />
  )
}

const latestEntries = 10

const latestColumns: readonly Column<EntryView>[] = [
  { name: 'Time', show: ({ atMs }) => <Time atMs={atMs} /> },
  { name: 'Kind', show: ({ kind }) => kind },
  { name: 'USD', isNumber: true, show: ({ amountUsd }) => exact(amountUsd) },
  { name: 'Model', show: ({ model }) => model ?? '–' },
  {
    name: 'Request',
    show: ({ request, ref }) => (request === null ? <code>{ref}</code> : <RequestLink request={request} />),
  },
]

/** The customer's keys and wallets, refused requests, and who changed what. */
function Access({ page: { keys, wallets, limits, acts } }: { page: CustomerPage }): JSX.Element {
  return (
    <>
      <h2>API keys</h2>
      <Table caption="API keys" columns={keyColumns} rows={keys} keyOf={({ key }) => key} empty="No keys." first={10} />
      <h2>Wallets</h2>
      {wallets.length === 0 && <p class="quiet">No wallets.</p>}
      <ul>
        {wallets.map(wallet => (
          <li key={wallet}>
            <code>{wallet}</code>
          </li>
        ))}
      </ul>
      <h2>Limits hit in the last 30 days</h2>
      <Table caption="Limits" columns={limitColumns} rows={limits} keyOf={limitKey} empty="None." />
      <h2>Operators’ actions</h2>
      <ActTable acts={acts} />
    </>
  )
}

const modelColumns = (most: string): readonly Column<ModelSums>[] => [
  { name: 'Model', show: ({ model }) => model },
  ...shareColumns<ModelSums>(most),
]

const periods: Readonly<Record<string, string>> = { epoch: 'a UTC day', month: 'a UTC month', lifetime: 'in total' }

const keyColumns: readonly Column<KeyView>[] = [
  { name: 'Label', show: ({ label }) => label || '–' },
  { name: 'Key', show: ({ prefix, key }) => <code title={key}>{prefix}…</code> },
  { name: 'Role', show: ({ role }) => role },
  { name: 'State', show: ({ state }) => <span class={state === 'active' ? 'badge good' : 'badge'}>{state}</span> },
  {
    name: 'Budget',
    show: ({ budget }) =>
      budget === null
        ? 'all of the customer’s credit'
        : `${money(budget.usedUsd)} of ${budget.usd === null ? 'any amount' : money(budget.usd)} ${periods[budget.period] ?? budget.period}`,
  },
  { name: 'Expires', show: ({ expiresAtMs }) => (expiresAtMs === null ? '–' : utcTime(expiresAtMs)) },
]

export const limitColumns: readonly Column<LimitView>[] = [
  { name: 'Limit', show: ({ type }) => type },
  { name: 'Model', show: ({ model }) => model },
  { name: 'Tier', show: ({ tier }) => tier },
  { name: 'Times', isNumber: true, show: ({ hits }) => count(hits) },
  { name: 'Last', show: ({ lastAtMs }) => <Time atMs={lastAtMs} /> },
]

export const limitKey = ({ customer, type, model, tier }: LimitView): string => [customer, type, model, tier].join(' ')
