import type { JSX } from 'preact'
import { barLength, usd } from './format.ts'

export interface Bar {
  /** `2026-11-23`, or another name. */
  name: string
  /** Micro-USD as a text. */
  amount: string
}

const height = 100
const width = 10
const gap = 2

/** A bar for each day, or nothing if all are 0. A table next to it has the same figures, for screen readers. */
export function DayChart({ bars, label }: { bars: readonly Bar[]; label: string }): JSX.Element | null {
  const amounts = bars.map(({ amount }) => barLength(amount))
  const [most, least] = [Math.max(0, ...amounts), Math.min(0, ...amounts)]
  const scale = most === least ? 0 : height / (most - least)
  const highest = bars[amounts.indexOf(most)]
  const [first, middle, last] = [bars[0], bars[Math.floor(bars.length / 2)], bars.at(-1)]
  if (!highest || scale === 0) return null
  const highestSaid = most > 0 ? `Highest: ${usd(highest.amount)} on ${highest.name}` : ''
  return (
    <figure class="chart">
      <p class="chart-top">{highestSaid}</p>
      <svg
        viewBox={`0 0 ${bars.length * width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}. ${highestSaid}. The table has each day.`}
      >
        {bars.map(({ name, amount }, index) => {
          const length = barLength(amount) * scale
          const top = most * scale - Math.max(0, length)
          return (
            <rect key={name} x={index * width + gap / 2} y={top} width={width - gap} height={Math.abs(length)}>
              <title>{`${name}: ${usd(amount)}`}</title>
            </rect>
          )
        })}
      </svg>
      <p class="chart-days" aria-hidden="true">
        {[first, middle, last].map((bar, index) => (
          <span key={index}>{bar?.name}</span>
        ))}
      </p>
    </figure>
  )
}

/** A bar in a row of a table. It is decorative, because the row also has the amount. */
export function RowBar({ amount, most }: { amount: string; most: string }): JSX.Element {
  const [length, whole] = [barLength(amount), barLength(most)]
  const share = whole > 0 && length > 0 ? Math.max(1, (100 * length) / whole) : 0
  return (
    <span class="row-bar" aria-hidden="true">
      <span style={{ inlineSize: `${share}%` }} />
    </span>
  )
}
