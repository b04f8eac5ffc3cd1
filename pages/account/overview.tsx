import type { JSX } from 'preact'
import { RowBar } from '../kit/chart.tsx'
import { Options } from '../kit/dialog.tsx'
import { barLength, count, exactUsd, usd } from '../kit/format.ts'
import { Waiting } from '../kit/list.tsx'
import { place, setQuery } from '../kit/router.ts'
import { type Column, saveTable, Table } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import { RequestLink } from './list.tsx'
import { me, useAnswer } from './session.ts'
import { type BalanceView, type HoldRow, type SpendView, type Sums, spendDays } from './wire.ts'

/** Credit, what is on hold, and what was spent. */
export function OverviewPage(): JSX.Element {
  const balance = useAnswer<BalanceView>('balance', {})
  const asked = Number(place.value.query.get('days') ?? 30)
  const days = spendDays.find(each => each === asked) ?? 30
  const spend = useAnswer<SpendView>('spend', { days })
  return (
    <>
      {balance.value ? <Balance balance={balance.value} /> : <Waiting problem={balance.problem} />}
      <h2>Spend by day and model (UTC)</h2>
      <p class="controls">
        <label>
          Period{' '}
          <select value={`${days}`} onChange={event => setQuery({ days: event.currentTarget.value })}>
            <Options of={spendDays.map(each => [`${each}`, `${each} days`] as const)} />
          </select>
        </label>
        {spend.value && <span class="quiet">{`${spend.value.from} to ${spend.value.to}`}</span>}
      </p>
      {spend.value ? <Spend spend={spend.value} /> : <Waiting problem={spend.problem} />}
    </>
  )
}

function Balance({ balance }: { balance: BalanceView }): JSX.Element {
  const { available, staking, account, holds, openHolds } = balance
  const onHold = account?.held ?? holds.reduce((sum, { amount }) => sum + BigInt(amount), 0n).toString()
  return (
    <>
      <div class="cards figures">
        <Figure
          name="Available"
          amount={available}
          note={account ? `of a balance of ${usd(account.posted)}` : 'that this key may spend'}
        />
        <Figure
          name="On hold"
          amount={onHold}
          note={openHolds === 1 ? 'for 1 call in flight' : `for ${count(openHolds)} calls in flight`}
        />
        {staking && <Figure name="Staking credit" amount={staking.left} note={`left of ${usd(staking.today)} today`} />}
      </div>
      {openHolds > 0 && (
        <details>
          <summary>Calls in flight</summary>
          <p class="quiet">
            A call holds its maximum price until it ends. Then it is charged, and the rest is available again.
          </p>
          <Table
            caption="Calls in flight"
            columns={holdColumns}
            rows={holds}
            keyOf={({ request }) => request}
            empty="None."
          />
          {openHolds > holds.length && <p class="quiet">{`The newest ${holds.length} of ${count(openHolds)}.`}</p>}
        </details>
      )}
    </>
  )
}

function Spend({ spend }: { spend: SpendView }): JSX.Element {
  const { totals, byDay, byModel } = spend
  return (
    <>
      <div class="cards figures">
        <Figure name="Spent" amount={totals.paid} note={`${count(totals.requests)} requests`} />
        <Figure name="Charged" amount={totals.charged} note={deductions(totals)} />
        {me.value?.seesAccount && (
          <Figure name="Credit added" amount={totals.toppedUp} note={`topped up; ${usd(totals.granted)} granted`} />
        )}
      </div>
      <SpendChart spend={spend} />
      <Table
        caption="Spend by model"
        columns={modelColumns(byModel[0]?.charged ?? '0')}
        rows={byModel}
        keyOf={({ model }) => model}
        empty="Nothing was charged in this period."
        first={10}
      />
      <details>
        <summary>By day, to the micro-USD</summary>
        <Table caption="Spend by UTC day" columns={dayColumns} rows={byDay} keyOf={({ day }) => day} empty="No days." />
        <p>
          <button type="button" onClick={() => saveTable(`spend-${spend.from}-to-${spend.to}.csv`, dayColumns, byDay)}>
            Save as CSV
          </button>
        </p>
      </details>
    </>
  )
}

function deductions({ refunded, writtenOff, staking }: Sums): string {
  const parts = [
    ...(refunded === '0' ? [] : [`${usd(refunded)} refunded`]),
    ...(writtenOff === '0' ? [] : [`${usd(writtenOff)} not charged`]),
    ...(staking === '0' ? [] : [`${usd(staking)} paid with staking credit`]),
  ]
  return parts.length === 0 ? 'nothing refunded' : `less ${parts.join(', ')}`
}

function Figure({ name, amount, note }: { name: string; amount: string; note: string }): JSX.Element {
  return (
    <div class="card">
      <p class="name">{name}</p>
      <p class="amount">{usd(amount)}</p>
      <p class="quiet">{note}</p>
    </div>
  )
}

const holdColumns: readonly Column<HoldRow>[] = [
  { name: 'Since', show: ({ sinceMs }) => <Time atMs={sinceMs} /> },
  { name: 'Request', show: ({ request }) => <RequestLink request={request} /> },
  { name: 'Key', show: ({ key }) => key ?? 'wallet' },
  { name: 'On hold', isNumber: true, show: ({ amount }) => usd(amount) },
]

const modelColumns = (most: string): readonly Column<SpendView['byModel'][number]>[] => [
  { name: 'Model', show: ({ model }) => model },
  { name: 'Requests', isNumber: true, show: ({ requests }) => count(requests) },
  {
    name: 'Charged',
    isNumber: true,
    show: ({ charged }) => (
      <>
        {usd(charged)}
        <RowBar amount={charged} most={most} />
      </>
    ),
  },
  { name: 'Spent', isNumber: true, show: ({ paid }) => usd(paid) },
]

/** Amounts of a table, with all their decimals. */
export const amountColumn = <Row,>(name: string, of: (row: Row) => string): Column<Row> => ({
  name,
  isNumber: true,
  show: row => exactUsd(of(row)),
  text: row => exactUsd(of(row)),
})

const dayColumns: readonly Column<SpendView['byDay'][number]>[] = [
  { name: 'Day (UTC)', show: ({ day }) => day, text: ({ day }) => day },
  { name: 'Requests', isNumber: true, show: ({ requests }) => count(requests), text: ({ requests }) => `${requests}` },
  amountColumn('Charged', ({ charged }) => charged),
  amountColumn('Refunded', ({ refunded }) => refunded),
  amountColumn('Spent', ({ paid }) => paid),
]

const height = 100
const width = 10
const gap = 2

/** The parts of each day's bar, from bottom to top: the top models, then the rest. */
const chartNames = ({ topModels, byModel }: SpendView): string[] =>
  byModel.length > topModels.length ? [...topModels, 'Other'] : topModels

/** Charges by day, with a colour for each of the top models. The table has the same figures for screen readers. */
function SpendChart({ spend }: { spend: SpendView }): JSX.Element | null {
  const { byDay } = spend
  const most = Math.max(0, ...byDay.map(({ charged }) => barLength(charged)))
  const highest = byDay.find(({ charged }) => barLength(charged) === most)
  if (!highest || most === 0) return null
  const said = `Highest: ${usd(highest.charged)} on ${highest.day}`
  const marks = [byDay[0], byDay[Math.floor(byDay.length / 2)], byDay.at(-1)]
  return (
    <figure class="chart">
      <p class="chart-top">{said}</p>
      <svg
        viewBox={`0 0 ${byDay.length * width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Charges by UTC day and model. ${said}. The table has each day.`}
      >
        {byDay.map((row, index) => (
          <DayBar key={row.day} row={row} x={index * width} scale={height / most} names={chartNames(spend)} />
        ))}
      </svg>
      <p class="chart-days" aria-hidden="true">
        {marks.map((row, index) => (
          <span key={index}>{row?.day}</span>
        ))}
      </p>
      <ul class="legend" aria-hidden="true">
        {chartNames(spend).map((name, index) => (
          <li key={name} class={`model-${index}`}>
            {name}
          </li>
        ))}
      </ul>
    </figure>
  )
}

interface DayBarProps {
  row: SpendView['byDay'][number]
  x: number
  scale: number
  names: readonly string[]
}

function DayBar({ row, x, scale, names }: DayBarProps): JSX.Element {
  const named = row.models.reduce((sum, amount) => sum + BigInt(amount), 0n)
  const amounts = [...row.models, `${BigInt(row.charged) - named}`].slice(0, names.length)
  let foot = height
  return (
    <g>
      {amounts.map((amount, index) => {
        const length = barLength(amount) * scale
        foot -= length
        return (
          <rect key={index} class={`model-${index}`} x={x + gap / 2} y={foot} width={width - gap} height={length}>
            <title>{`${row.day}, ${names[index]}: ${usd(amount)}`}</title>
          </rect>
        )
      })}
    </g>
  )
}
