import type { JSX } from 'preact'
import { count } from '../kit/format.ts'
import type { Column } from '../kit/table.tsx'
import { List } from './list.tsx'
import { amountColumn } from './overview.tsx'
import type { InvoiceMonth } from './wire.ts'

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
