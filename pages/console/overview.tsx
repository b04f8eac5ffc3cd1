import type { JSX } from 'preact'
import { postJson } from '../kit/api.ts'
import { DayChart, RowBar } from '../kit/chart.tsx'
import { Options, RefusedNote } from '../kit/dialog.tsx'
import { count } from '../kit/format.ts'
import { Waiting } from '../kit/list.tsx'
import { place, setQuery } from '../kit/router.ts'
import { type Column, Table } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import type { DaySums, ModelSums, Overview, Sums } from './answers.ts'
import { CustomerLink, RequestLink } from './list.tsx'
import { exact, micro, milliseconds, money, question, useLive } from './operator.ts'
import type { LiveFigures, RecentRequest, TimedRow } from './wire.ts'

const dayMs = 86_400_000
const spans = { '1': 'today', '7': '7 days', '30': '30 days' } as const
const liveEveryMs = 3_000
/** A large ledger takes a while to sum. */
const overviewEveryMs = 30_000

/** The first of this many days, in UTC, including today. */
const since = (days: number): string => new Date(Date.now() - (days - 1) * dayMs).toISOString().slice(0, 10)

/** Money, usage and problems. */
export function OverviewPage(): JSX.Element {
  const days = place.value.query.get('days') ?? '30'
  const overview = useLive(() => question('overview', { from: since(Number(days)) }), days, overviewEveryMs)
  const shown = overview.value.value
  return (
    <>
      <p class="controls">
        <label>
          Period (UTC days){' '}
          <select value={days} onChange={event => setQuery({ days: event.currentTarget.value })}>
            <Options of={Object.entries(spans)} />
          </select>
        </label>
      </p>
      <RefusedNote refused={overview.problem.value} />
      {shown ? <Figures overview={shown} /> : <p class="quiet">Loading the overview…</p>}
      <LiveSection />
    </>
  )
}

function Figures({ overview }: { overview: Overview }): JSX.Element {
  const { totals, balances, atRisk, ledger } = overview
  return (
    <>
      {ledger.state === 'read_only' && (
        <p class="refused" role="alert">
          The ledger is read-only: {ledger.reason} <a href="/ledger">Audit it</a>, then run{' '}
          <code>farebox ledger reopen</code>.
        </p>
      )}
      <div class="cards">
        <Figure name="Revenue" value={money(totals.revenueUsd)} note={`${money(totals.chargedUsd)} charged`} />
        <Figure name="Requests charged" value={count(totals.requests)} note={`${money(totals.refundedUsd)} refunded`} />
        <Figure name="Topped up" value={money(totals.toppedUpUsd)} note={`${money(totals.grantedUsd)} granted`} />
        <Figure
          name="Owed to customers"
          value={money(balances.balanceUsd)}
          note={`${count(balances.customers)} customers, ${count(balances.suspended)} suspended`}
        />
        <Figure
          name="On hold"
          value={money(balances.heldUsd)}
          note={`${count(atRisk.openHolds)} calls, ${count(atRisk.openJobs)} jobs`}
        />
        <div class={atRisk.stuckPayments > 0 ? 'card attention' : 'card'}>
          <p class="name">Stuck payments</p>
          <p class="amount">{count(atRisk.stuckPayments)}</p>
          <p class="quiet">
            {atRisk.stuckPayments > 0 ? (
              <a href="/payments?stage=stuck">{money(atRisk.stuckPaymentsUsd)}: what to do</a>
            ) : (
              'none pending for more than an hour'
            )}
          </p>
        </div>
      </div>
      <Shares overview={overview} />
    </>
  )
}

/** By day, model and customer. */
function Shares({ overview: { byDay, byModel, byCustomer } }: { overview: Overview }): JSX.Element {
  return (
    <>
      <h2>Revenue by day (UTC)</h2>
      <DayChart
        label="Revenue by UTC day"
        bars={byDay.map(({ day, revenueUsd }) => ({ name: day, amount: micro(revenueUsd) }))}
      />
      <details>
        <summary>By day, to the micro-USD</summary>
        <Table caption="Sums by UTC day" columns={dayColumns} rows={byDay} keyOf={({ day }) => day} empty="No days." />
      </details>
      <p>
        <a href="/usage">By day and model</a>
      </p>
      <div class="halves">
        <section aria-labelledby="models-title">
          <h2 id="models-title">Models</h2>
          <Table
            caption="Models by revenue"
            columns={[
              { name: 'Model', show: ({ model }) => model },
              ...shareColumns<ModelSums>(micro(byModel[0]?.chargedUsd ?? '0')),
            ]}
            rows={byModel}
            keyOf={({ model }) => model}
            empty="Nothing was charged in this period."
          />
        </section>
        <section aria-labelledby="customers-title">
          <h2 id="customers-title">Customers</h2>
          <Table
            caption="Customers by revenue"
            columns={[
              { name: 'Customer', show: row => <CustomerLink customer={row.customer} name={row.name} /> },
              ...shareColumns<CustomerSums>(micro(byCustomer[0]?.chargedUsd ?? '0')),
            ]}
            rows={byCustomer}
            keyOf={({ customer }) => customer}
            empty="Nothing was charged in this period."
          />
        </section>
      </div>
    </>
  )
}

type CustomerSums = Overview['byCustomer'][number]

export const shareColumns = <Row extends { requests: number; chargedUsd: string }>(
  most: string,
): readonly Column<Row>[] => [
  { name: 'Requests', isNumber: true, show: ({ requests }) => count(requests) },
  {
    name: 'Charged',
    isNumber: true,
    show: ({ chargedUsd }) => (
      <>
        {money(chargedUsd)}
        <RowBar amount={micro(chargedUsd)} most={most} />
      </>
    ),
  },
]

export const sumColumns: readonly Column<Sums>[] = [
  { name: 'Requests', isNumber: true, show: ({ requests }) => count(requests) },
  { name: 'Charged', isNumber: true, show: ({ chargedUsd }) => exact(chargedUsd) },
  { name: 'Refunded', isNumber: true, show: ({ refundedUsd }) => exact(refundedUsd) },
  { name: 'Revenue', isNumber: true, show: ({ revenueUsd }) => exact(revenueUsd) },
  { name: 'Topped up', isNumber: true, show: ({ toppedUpUsd }) => exact(toppedUpUsd) },
  { name: 'Granted', isNumber: true, show: ({ grantedUsd }) => exact(grantedUsd) },
]

export const dayColumns: readonly Column<DaySums>[] = [{ name: 'Day (UTC)', show: ({ day }) => day }, ...sumColumns]

export function Figure({ name, value, note }: { name: string; value: string; note: string }): JSX.Element {
  return (
    <div class="card">
      <p class="name">{name}</p>
      <p class="amount">{value}</p>
      <p class="quiet">{note}</p>
    </div>
  )
}

/** Requests of the last minutes. */
function LiveSection(): JSX.Element {
  const live = useLive(() => postJson<LiveFigures>('/api/live', {}), '', liveEveryMs)
  const shown = live.value.value
  if (!shown) return <Waiting problem={live.problem.value} />
  return (
    <section aria-labelledby="live-title">
      <h2 id="live-title">Live: the last {shown.minutes} minutes</h2>
      <p class="quiet">{processesInWords(shown.processes)}</p>
      <div class="cards">
        <Figure name="Requests" value={count(shown.requests)} note="to the API" />
        <Figure
          name="Failed"
          value={count(shown.failed)}
          note={`${count(shown.refused)} refused because the caller made an error`}
        />
        <Figure name="Median duration" value={milliseconds(shown.p50Ms)} note="to the last byte (p50)" />
        <Figure name="95th percentile" value={milliseconds(shown.p95Ms)} note="to the last byte (p95)" />
      </div>
      <Times live={shown} />
      <details>
        <summary>Latest failures</summary>
        <Table
          caption="Latest failed requests"
          columns={failureColumns}
          rows={shown.failures}
          keyOf={({ request }) => request}
          empty="None."
        />
      </details>
    </section>
  )
}

function Times({ live }: { live: LiveFigures }): JSX.Element {
  return (
    <div class="halves">
      <section aria-labelledby="model-times-title">
        <h3 id="model-times-title">Times by model</h3>
        <Table
          caption="Times by model"
          columns={[{ name: 'Model', show: ({ model }) => model }, ...timeColumns<LiveFigures['byModel'][number]>()]}
          rows={live.byModel}
          keyOf={({ model }) => model}
          empty="No model was called."
        />
      </section>
      <section aria-labelledby="customer-times-title">
        <h3 id="customer-times-title">Times by customer</h3>
        <Table
          caption="Times by customer"
          columns={[
            { name: 'Customer', show: row => <CustomerLink customer={row.customer} name={row.name} /> },
            ...timeColumns<LiveFigures['byCustomer'][number]>(),
          ]}
          rows={live.byCustomer}
          keyOf={({ customer }) => customer}
          empty="No customer made a call."
        />
      </section>
    </div>
  )
}

/** Says which processes the figures cover; each has only the requests that it answered. */
function processesInWords({ answered, of }: LiveFigures['processes']): string {
  if (of === 1) return 'Only this process, since it started; with several workers, each has its own figures.'
  return answered === of ? `For all ${of} workers.` : `For ${answered} of ${of} workers; the others did not answer.`
}

const timeColumns = <Row extends TimedRow>(): readonly Column<Row>[] => [
  { name: 'Requests', isNumber: true, show: ({ requests }) => count(requests) },
  { name: 'Failed', isNumber: true, show: ({ failed }) => count(failed) },
  { name: 'p50', isNumber: true, show: ({ p50Ms }) => milliseconds(p50Ms) },
  { name: 'p95', isNumber: true, show: ({ p95Ms }) => milliseconds(p95Ms) },
]

const failureColumns: readonly Column<RecentRequest>[] = [
  { name: 'Time', show: ({ atMs }) => <Time atMs={atMs} /> },
  { name: 'Operation', show: ({ operation }) => operation },
  { name: 'Status', show: ({ status }) => (status === 0 ? 'disconnected' : status) },
  { name: 'Duration', isNumber: true, show: ({ ms }) => milliseconds(ms) },
  { name: 'Account', show: ({ account }) => account ?? '–' },
  { name: 'Request', show: ({ request }) => <RequestLink request={request} /> },
]
