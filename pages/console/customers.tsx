import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { DialogForm } from '../kit/dialog.tsx'
import { count } from '../kit/format.ts'
import { Choice, filterOf, Search } from '../kit/list.tsx'
import { go } from '../kit/router.ts'
import type { Column } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import { CustomerLink, List, type RowOf } from './list.tsx'
import { act, customerPath, money } from './operator.ts'
import { may } from './session.ts'

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
