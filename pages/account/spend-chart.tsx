import type { JSX } from 'preact'
import { barLength, usd } from '../kit/format.ts'
import type { SpendView } from './wire.ts'

const height = 100
const width = 10
const gap = 2

/** The parts of each day's bar, from bottom to top: the top models, then the rest. */
const chartNames = ({ topModels, byModel }: SpendView): string[] =>
  byModel.length > topModels.length ? [...topModels, 'Other'] : topModels

/** Charges by day, with a colour for each of the top models. The table has the same figures for screen readers. */
export function SpendChart({ spend }: { spend: SpendView }): JSX.Element | null {
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
