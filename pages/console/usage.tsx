import type { JSX } from 'preact'
import { count } from '../kit/format.ts'
import { Choice, DayField, filterOf, PagedTable, Search, useTurned } from '../kit/list.tsx'
import { place } from '../kit/router.ts'
import { type Column, nothing } from '../kit/table.tsx'
import type { UsageView } from './answers.ts'
import { CustomerLink, useCsv } from './list.tsx'
import { money, question, useLive } from './operator.ts'
import { sumColumns } from './overview.tsx'

const pageRows = 50
const usual = 'day, model'
/** In the address, and as sent to the server. */
const ways: Readonly<Record<string, readonly string[]>> = {
  [usual]: ['day', 'model'],
  day: ['day'],
  model: ['model'],
  customer: ['customer'],
  'customer, model': ['customer', 'model'],
  'customer, day': ['customer', 'day'],
  'customer, model, day': ['customer', 'model', 'day'],
}

const groups: Readonly<Record<string, Column<UsageView>>> = {
  day: { name: 'Day (UTC)', show: ({ day }) => day },
  model: { name: 'Model', show: ({ model }) => model || nothing },
  customer: {
    name: 'Customer',
    show: ({ customer = '', name = null }) => <CustomerLink customer={customer} name={name} />,
  },
}

/** What was sold, by day, model and customer, to the micro-USD. */
export function UsagePage(): JSX.Element {
  const by = ways[place.value.query.get('by') ?? usual] ?? ways[usual] ?? []
  const filter = filterOf('customer', 'model', 'from', 'to')
  const shape = { ...filter, by: by.join() }
  const turned = useTurned(shape)
  const after = turned.value.at(-1)
  const read = useLive(
    () => question('usage', { ...filter, by, limit: pageRows, ...(after === undefined ? {} : { after }) }),
    `${JSON.stringify(shape)} ${after}`,
  )
  const csv = useCsv('usage', { ...filter, by })
  const page = read.value.value
  return (
    <>
      <p class="controls">
        <Choice label="By" name="by" none={usual} values={Object.keys(ways).filter(way => way !== usual)} />
        <Search label="Customer" name="customer" placeholder="id, name or wallet" />
        <Search label="Model" name="model" />
        <DayField label="From (UTC)" name="from" />
        <DayField label="Before (UTC)" name="to" />
        {csv.button}
      </p>
      {csv.refusal}
      {page && (
        <p role="status">
          Total: {count(page.totals.requests)} requests, {money(page.totals.chargedUsd)} charged and{' '}
          {money(page.totals.revenueUsd)} revenue
          {filter.from === undefined && filter.to === undefined && ', in 30 days'}.
        </p>
      )}
      <PagedTable<UsageView>
        caption="Usage"
        columns={[...by.flatMap(way => groups[way] ?? []), ...sumColumns]}
        keyOf={({ day, model, customer }) => `${day} ${model} ${customer}`}
        empty="Nothing was charged."
        page={page}
        problem={read.problem.value}
        turned={turned}
        pageRows={pageRows}
      />
    </>
  )
}
