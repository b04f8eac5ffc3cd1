import type { JSX } from 'preact'
import { count, exactUsd, utcTime } from '../kit/format.ts'
import { Waiting } from '../kit/list.tsx'
import { place } from '../kit/router.ts'
import { type Column, saveTable, Table } from '../kit/table.tsx'
import { List } from './list.tsx'
import { amountColumn } from './overview.tsx'
import { useAnswer } from './session.ts'
import type { InvoiceLine, InvoiceMonth, InvoiceView } from './wire.ts'

const pageRows = 12

/** Months of the account. */
export function InvoicesPage(): JSX.Element {
  return (
    <>
      <p>One invoice for each UTC month. Open one to print it, to save it as PDF, or to download it as CSV.</p>
      <List
        name="invoices"
        caption="Invoices"
        filter={{}}
        columns={monthColumns}
        keyOf={({ month }: InvoiceMonth) => month}
        empty="No invoices yet: the account opens with the first top-up."
        pageRows={pageRows}
      />
    </>
  )
}

const monthColumns: readonly Column<InvoiceMonth>[] = [
  {
    name: 'Month (UTC)',
    show: ({ month, isFinal }) => (
      <>
        <a href={`/account/invoice?${new URLSearchParams({ month })}`}>{month}</a>
        {!isFinal && <span class="badge">so far</span>}
      </>
    ),
  },
  { name: 'Requests', isNumber: true, show: ({ requests }) => count(requests) },
  amountColumn('Charged, USD', ({ charged }) => charged),
  amountColumn('Refunded', ({ refunded }) => refunded),
  amountColumn('Spent', ({ paid }) => paid),
  amountColumn('Topped up', ({ toppedUp }) => toppedUp),
]

/** One month, as a page to print. Its print style shows only the sheet. */
export function InvoicePage(): JSX.Element {
  const month = place.value.query.get('month') ?? ''
  const { value, problem } = useAnswer<InvoiceView>('invoice', { month })
  // After a step back in the browser, the other month's answer is still there.
  const invoice = value?.month === month ? value : null
  return (
    <>
      <p class="controls unprinted">
        <a href="/account/invoices">All invoices</a>
        {invoice && (
          <>
            <button type="button" class="main" onClick={() => print()}>
              Print or save as PDF
            </button>
            <button
              type="button"
              onClick={() => saveTable(`invoice-${invoice.month}.csv`, csvColumns, csvRows(invoice))}
            >
              Save as CSV
            </button>
          </>
        )}
      </p>
      {invoice ? <Sheet invoice={invoice} /> : <Waiting problem={problem} />}
    </>
  )
}

const day = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)

function Sheet({ invoice }: { invoice: InvoiceView }): JSX.Element {
  const { month, isFinal, madeAtMs, fromMs, toMs, account, seller, customer, lines, totals } = invoice
  const [sellerName = '', ...sellerLines] = seller
  return (
    <article class="sheet" aria-label={`Invoice for ${month}`}>
      <div class="parties">
        <address>
          <strong class="block">{sellerName}</strong>
          {sellerLines.map((line, index) => (
            <span key={index} class="block">
              {line}
            </span>
          ))}
        </address>
        <dl class="facts">
          <dt>Invoice</dt>
          <dd>{month}</dd>
          <dt>Period</dt>
          <dd>{`${day(fromMs)} to ${day(toMs - 1)}, UTC`}</dd>
          <dt>Created</dt>
          <dd>{utcTime(madeAtMs)}</dd>
        </dl>
      </div>
      {!isFinal && <p class="alarm card">The month is not over: these are its figures so far.</p>}
      <h2>Customer</h2>
      <address>
        {customer.name && <span class="block">{customer.name}</span>}
        {customer.email && <span class="block">{customer.email}</span>}
        <span class="block">
          Account <code>{account}</code>
        </span>
      </address>
      <h2>Usage</h2>
      <Table
        caption="Lines by model"
        columns={lineColumns}
        rows={lines}
        keyOf={({ model }) => model ?? ''}
        empty="Nothing was used in this month."
      />
      <dl class="facts sums">
        <Sum name="Charged" amount={totals.charged} />
        {totals.refunded !== '0' && <Sum name="Refunded" amount={negative(totals.refunded)} />}
        {totals.writtenOff !== '0' && <Sum name="Not charged" amount={negative(totals.writtenOff)} />}
        {totals.staking !== '0' && <Sum name="Paid with staking credit" amount={negative(totals.staking)} />}
        <Sum name="Total, paid from credit" amount={totals.paid} isTotal />
      </dl>
      <h2>Credit</h2>
      <dl class="facts sums">
        <Sum name={`Balance on ${day(fromMs)}`} amount={invoice.balanceBefore} />
        <Sum name="Topped up" amount={totals.toppedUp} />
        {totals.granted !== '0' && <Sum name="Granted" amount={totals.granted} />}
        <Sum name="Paid for usage" amount={negative(totals.paid)} />
        <Sum name={isFinal ? `Balance on ${day(toMs)}` : 'Balance now'} amount={invoice.balanceAfter} isTotal />
      </dl>
      <p class="quiet">Amounts are USD, exact to the micro-USD. Nothing is due: usage is paid from credit.</p>
    </article>
  )
}

const negative = (amount: string): string => `${-BigInt(amount)}`

function Sum({ name, amount, isTotal }: { name: string; amount: string; isTotal?: true }): JSX.Element {
  return (
    <>
      <dt class={isTotal && 'total'}>{name}</dt>
      <dd class={isTotal && 'total'}>{exactUsd(amount)}</dd>
    </>
  )
}

const nameOf = ({ model }: InvoiceLine): string => model ?? 'Other'

const lineColumns: readonly Column<InvoiceLine>[] = [
  { name: 'Model', show: nameOf },
  { name: 'Requests', isNumber: true, show: ({ requests }) => count(requests) },
  amountColumn('Charged, USD', ({ charged }) => charged),
  amountColumn('Refunded', ({ refunded }) => refunded),
  amountColumn('Paid', ({ paid }) => paid),
]

const csvColumns: readonly Column<InvoiceLine & { month: string }>[] = [
  { name: 'Month', show: ({ month }) => month, text: ({ month }) => month },
  { name: 'Model', show: nameOf, text: nameOf },
  { name: 'Requests', show: ({ requests }) => requests, text: ({ requests }) => `${requests}` },
  amountColumn('Charged USD', ({ charged }) => charged),
  amountColumn('Refunded USD', ({ refunded }) => refunded),
  amountColumn('Not charged USD', ({ writtenOff }) => writtenOff),
  amountColumn('Staking USD', ({ staking }) => staking),
  amountColumn('Paid USD', ({ paid }) => paid),
]

const csvRows = ({ month, lines }: InvoiceView) => lines.map(line => ({ ...line, month }))
