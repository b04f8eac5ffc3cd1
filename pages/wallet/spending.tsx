import type { JSX } from 'preact'
import { DayChart, RowBar } from '../kit/chart.tsx'
import { Options, RefusedNote } from '../kit/dialog.tsx'
import { count, exactUsd, usd } from '../kit/format.ts'
import { type Column, saveTable, Table } from '../kit/table.tsx'
import type { WalletData } from './wallet-data.ts'
import { type Spending, type SpentOn, spendingDays } from './wire.ts'

export function SpendingReport({ data }: { data: WalletData }): JSX.Element {
  const spending = data.spending.value.value
  return (
    <section id="spending" aria-labelledby="spending-title">
      <h2 id="spending-title">Spending</h2>
      <p class="controls">
        <label>
          Days{' '}
          <select
            value={String(data.days.value)}
            onChange={event => {
              data.days.value = Number(event.currentTarget.value)
              void data.spending.refresh()
            }}
          >
            <Options of={spendingDays.map(days => [`${days}`, `last ${days}`] as const)} />
          </select>
        </label>
        <span class="quiet">Days are UTC.</span>
      </p>
      <RefusedNote refused={data.spending.problem.value} />
      {spending ? <Report spending={spending} /> : <p class="quiet">Loading the receipts…</p>}
    </section>
  )
}

type Day = Spending['byDay'][number]

const dayColumns: readonly Column<Day>[] = [
  { name: 'Day (UTC)', show: ({ day }) => day, text: ({ day }) => day },
  { name: 'Charged USD', show: ({ spent }) => exactUsd(spent), text: ({ spent }) => exactUsd(spent), isNumber: true },
  { name: 'Paid USD', show: ({ paid }) => exactUsd(paid), text: ({ paid }) => exactUsd(paid), isNumber: true },
]

function Report({ spending }: { spending: Spending }): JSX.Element {
  const { byDay, byModel, byTool, total, paid, charges, unknown, isPartial } = spending
  const used = byDay.filter(({ spent, paid }) => spent !== '0' || paid !== '0').toReversed()
  if (used.length === 0 && unknown === 0) return <p class="quiet">Nothing was charged or paid in this period.</p>
  return (
    <>
      <p>
        <strong>{usd(total)}</strong> charged in {count(charges)} {charges === 1 ? 'call' : 'calls'}, less refunds.{' '}
        <strong>{usd(paid)}</strong> paid to the service for credit.
        {unknown > 0 && ` ${count(unknown)} more have no known amount, and are not included.`}
        {isPartial && ' The oldest charges of this period are no longer kept.'}
      </p>
      <DayChart bars={byDay.map(({ day, spent }) => ({ name: day, amount: spent }))} label="Charged each UTC day" />
      <details>
        <summary>By day, to the micro-USD</summary>
        <p class="controls">
          <button type="button" onClick={() => saveTable('spending-by-day.csv', dayColumns, byDay)}>
            Save as CSV
          </button>
        </p>
        <Table
          caption="Charged and paid each UTC day"
          columns={dayColumns}
          rows={used}
          keyOf={({ day }) => day}
          empty="Nothing was charged or paid in this period."
        />
      </details>
      <div class="halves">
        <SpentOnTable name="Model" rows={byModel} />
        <SpentOnTable name="Tool" rows={byTool} />
      </div>
    </>
  )
}

function SpentOnTable({ name, rows }: { name: 'Model' | 'Tool'; rows: readonly SpentOn[] }): JSX.Element {
  const most = rows[0]?.spent ?? '0'
  const columns: readonly Column<SpentOn>[] = [
    {
      name,
      text: row => row.name,
      show: row => (
        <>
          {row.name} <RowBar amount={row.spent} most={most} />
        </>
      ),
    },
    { name: 'Calls', show: row => count(row.charges), text: row => String(row.charges), isNumber: true },
    { name: 'Charged USD', show: row => exactUsd(row.spent), text: row => exactUsd(row.spent), isNumber: true },
  ]
  return (
    <div>
      <h3>By {name.toLowerCase()}</h3>
      <Table
        caption={`Charged by ${name.toLowerCase()}`}
        columns={columns}
        rows={rows}
        first={10}
        keyOf={row => row.name}
        empty="Nothing was charged in this period."
      />
      {rows.length > 0 && (
        <p class="controls">
          <button type="button" onClick={() => saveTable(`spending-by-${name.toLowerCase()}.csv`, columns, rows)}>
            Save {name.toLowerCase()}s as CSV
          </button>
        </p>
      )}
    </div>
  )
}
