import type { JSX } from 'preact'
import { Choice, filterOf, Search } from '../kit/list.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import type { ActView } from './answers.ts'
import { CustomerLink, List } from './list.tsx'

const columns: readonly Column<ActView>[] = [
  { name: 'Time', show: ({ atMs }) => <Time atMs={atMs} /> },
  { name: 'Who', show: ({ actor }) => actor },
  { name: 'Action', show: ({ act }) => act },
  {
    name: 'Customer',
    show: ({ customer, name }) => (customer === null ? '–' : <CustomerLink customer={customer} name={name} />),
  },
  { name: 'On', show: ({ subject }) => (subject === null ? '–' : <code>{subject}</code>) },
  { name: 'Reason', show: ({ reason }) => reason ?? '–' },
  {
    name: 'Change',
    show: ({ before, after }) =>
      before === null && after === null ? '–' : <code>{`${text(before)} → ${text(after)}`}</code>,
  },
]

const text = (value: unknown): string => (value === null || value === undefined ? 'nothing' : JSON.stringify(value))

export function ActTable({ acts }: { acts: readonly ActView[] }): JSX.Element {
  const own = columns.filter(({ name }) => name !== 'Customer')
  return (
    <Table
      caption="Operators’ actions"
      columns={own}
      rows={acts}
      keyOf={({ number }) => `${number}`}
      empty="Nothing."
      first={10}
    />
  )
}

const actNames = [
  ...[
    'customer.create',
    'customer.change',
    'customer.credit',
    'customer.refund',
    'customer.suspend',
    'customer.resume',
  ],
  ...[
    'customer.limit',
    'job.refund',
    'limit.unblock',
    'payment.check',
    'model.try',
    'settings.change',
    'key.create',
    'key.budget',
    'key.revoke',
    'ledger.reopen',
  ],
]

/** The audit log. */
export function ActsPage(): JSX.Element {
  return (
    <>
      <p class="controls">
        <Choice label="Action" name="act" values={actNames} />
        <Search label="Who" name="actor" placeholder="console: ada" />
        <Search label="Customer" name="customer" placeholder="id, name or wallet" />
      </p>
      <List
        name="acts"
        caption="Operators’ actions"
        filter={filterOf('act', 'actor', 'customer')}
        columns={columns}
        keyOf={({ number }) => `${number}`}
        empty="No actions."
      />
    </>
  )
}
